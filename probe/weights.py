"""Checksums of the weights of a replica, by groups of layers: what replicas that agree have alike.

Of data-parallel replicas on the CPU alone. On a device the bytes could only be read by waiting for
it, so nothing is said of those. A checksum is the sum of all elements taken as whole numbers: one
pass over memory, and no single bit can change without it.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

MOST_GROUPS = 128
_DEEPEST = 3
_WHOLE = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
"""By the bytes of an element."""

WeightSums = Sequence[tuple[str, int]]


def take(torch: Any, replica: Any) -> tuple[WeightSums, str]:
    """Sum the parameters that are reduced over replicas, and name the replicas' ranks.

    Nothing of a model that is on a device, or whose group is not known.
    """
    ignored = set(getattr(replica, "parameters_to_ignore", ()))
    sums = summed(
        torch,
        (
            (name, parameter)
            for name, parameter in replica.named_parameters()
            if name.removeprefix("module.") not in ignored
        ),
    )
    ranks = torch.distributed.get_process_group_ranks(replica.process_group) if sums else ()
    return sums, f"{len(ranks)}:{hashlib.sha256(repr(ranks).encode()).hexdigest()[:8]}"


def summed(torch: Any, named: Iterable[tuple[str, Any]]) -> WeightSums:
    """Return the sums of parameters; nothing where one is on a device or of an unknown kind."""
    sums: list[tuple[str, int]] = []
    with torch.no_grad():
        for name, parameter in named:
            data = parameter.data  # a distributed tensor is no plain one: a sum would communicate
            kind = _WHOLE.get(data.element_size())
            if kind is None or type(data) is not torch.Tensor:
                return ()
            if data.device.type != "cpu" or not data.is_contiguous():
                return ()
            sums.append((name, int(data.view(-1).view(getattr(torch, kind)).sum())))
    return sums


def whole(sums: WeightSums) -> str:
    """Return one digest of all sums, 8 hexadecimal digits; empty for none."""
    return hashlib.sha256(repr(sums).encode()).hexdigest()[:8] if sums else ""


def group_of(name: str, depth: int = _DEEPEST) -> str:
    """Return the group of layers that a parameter is part of, by its name."""
    return ".".join(name.removeprefix("module.").split(".")[:-1][:depth]) or "model"


def digests(sums: WeightSums) -> str:
    """Return "NAME=HASH NAME=HASH ..." over groups of layers, in the order of the model."""
    for depth in range(_DEEPEST, 0, -1):
        groups: dict[str, Any] = {}
        for name, total in sums:
            part = total.to_bytes(8, "big", signed=True)
            groups.setdefault(group_of(name, depth), hashlib.sha256()).update(part)
        if len(groups) <= MOST_GROUPS:
            return " ".join(f"{name}={found.hexdigest()[:8]}" for name, found in groups.items())
    return ""
