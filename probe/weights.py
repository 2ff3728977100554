"""Checksums of the weights of a replica, by groups of layers: what replicas that agree have alike.

Of data-parallel replicas, and of distributed tensors, whose placements say which ranks have the
same; on the CPU alone. On a device the bytes could only be read by waiting for it, so nothing is
said of those. A checksum is the sum of all elements taken as whole numbers: one pass over memory,
and no single bit can change without it.
"""

import hashlib
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..vocabulary.groups import PLACED_REPLICAS

MOST_GROUPS = 128
FEW = 4096
"""First elements of a tensor, of gradients and of an optimizer's averages: enough to compare."""
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
    return sums, _named_ranks(ranks)


def summed(torch: Any, named: Iterable[tuple[str, Any]], most: int | None = None) -> WeightSums:
    """Return the sums of parameters; nothing where one is on a device or of an unknown kind.

    most: elements of each that are summed, the first ones.
    """
    sums: list[tuple[str, int]] = []
    with torch.no_grad():
        for name, parameter in named:
            data = parameter.data  # a distributed tensor is no plain one: a sum would communicate
            kind = _WHOLE.get(data.element_size())
            if kind is None or type(data) is not torch.Tensor:
                return ()
            if data.device.type != "cpu" or not data.is_contiguous():
                return ()
            sums.append((name, int(data.view(-1)[:most].view(getattr(torch, kind)).sum())))
    return sums


def of_shards(torch: Any, named: Iterable[tuple[str, Any]]) -> tuple[WeightSums, str]:
    """Sum this rank's parts of distributed tensors that other ranks have too, and name those ranks.

    By their placements: a tensor is alike along the dimensions of its mesh over which it is
    replicated. Of several such sets of ranks the one with most parameters. Nothing of plain tensors
    and of a model that is on a device.
    """
    kind: Any = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    if kind is None:
        return (), ""
    sets: dict[tuple[int, ...], list[tuple[str, Any]]] = {}
    for name, parameter in named:
        if isinstance(parameter, kind):
            ranks = _alike(parameter.device_mesh, parameter.placements)
            sets.setdefault(ranks, []).append((name, parameter._local_tensor))  # noqa: SLF001  no copy
    ranks = max((one for one in sets if len(one) > 1), key=lambda one: len(sets[one]), default=())
    sums = summed(torch, sets.get(ranks, ())) if ranks else ()
    return sums, f"{PLACED_REPLICAS}{_named_ranks(ranks)}" if sums else ""


def _alike(mesh: Any, placements: Sequence[Any]) -> tuple[int, ...]:
    """Return the ranks that have what this one has of a tensor; none of one still to be reduced."""
    own = mesh.get_coordinate()
    if own is None or any(one.is_partial() for one in placements):
        return ()
    chosen = tuple(
        slice(None) if one.is_replicate() else at for one, at in zip(placements, own, strict=True)
    )
    return tuple(mesh.mesh[chosen].reshape(-1).tolist())


def _named_ranks(ranks: Sequence[int]) -> str:
    return f"{len(ranks)}:{hashlib.sha256(repr([*ranks]).encode()).hexdigest()[:8]}"


def moments(torch: Any, state: Mapping[Any, Any]) -> float:
    """Return the norm of what an optimizer keeps of its parameters, element by element.

    Of the first elements of this rank's parts; NaN where it keeps nothing, or keeps it on a device.
    """
    total = 0.0
    for parameter, kept in state.items():
        for one in kept.values() if isinstance(kept, dict) else ():
            if not isinstance(one, torch.Tensor) or one.shape != parameter.shape or one.ndim == 0:
                continue
            local: Any = getattr(one, "_local_tensor", one)
            if local.device.type != "cpu":
                return math.nan
            with torch.no_grad():
                few = local.reshape(-1)[:FEW] if local.is_contiguous() else local[:1]
                total += float(torch.linalg.vector_norm(few, dtype=torch.float64)) ** 2
    return math.sqrt(total) if total else math.nan


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
