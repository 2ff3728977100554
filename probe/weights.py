"""Checksums of the weights of a replica, by groups of layers: what replicas that agree have alike.

Of data-parallel replicas on the CPU alone. On a device the bytes could only be read by waiting for
it, so nothing is said of those. A checksum is the sum of all elements taken as whole numbers: one
pass over memory, and no single bit can change without it.
"""

import hashlib
from collections.abc import Sequence
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
    sums: list[tuple[str, int]] = []
    ignored = set(getattr(replica, "parameters_to_ignore", ()))
    with torch.no_grad():
        for name, parameter in replica.named_parameters():
            if name.removeprefix("module.") in ignored:
                continue
            kind = _WHOLE.get(parameter.element_size())
            if kind is None or parameter.device.type != "cpu" or not parameter.is_contiguous():
                return (), ""
            whole = parameter.detach().view(-1).view(getattr(torch, kind))
            sums.append((name, int(whole.sum())))
    ranks = torch.distributed.get_process_group_ranks(replica.process_group)
    return sums, f"{len(ranks)}:{hashlib.sha256(repr(ranks).encode()).hexdigest()[:8]}"


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
