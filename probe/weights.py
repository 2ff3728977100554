"""Digests of the weights of a replica, by groups of layers: what replicas that agree have alike.

Of data-parallel replicas on the CPU alone. On a device the bytes could only be read by waiting for
it, so nothing is said of those.
"""

import ctypes
import hashlib
from collections.abc import Sequence
from typing import Any

PART = 1024
"""Bytes of each parameter, from its beginning."""
MOST_GROUPS = 128
_DEEPEST = 3

CopiedWeights = Sequence[tuple[str, bytes]]


def take(torch: Any, replica: Any) -> tuple[CopiedWeights, str]:
    """Copy parts of the parameters that are reduced over replicas, and name the replicas' ranks.

    Nothing of a model that is on a device, or whose group is not known.
    """
    copied: list[tuple[str, bytes]] = []
    ignored = set(getattr(replica, "parameters_to_ignore", ()))
    for name, parameter in replica.named_parameters():
        if name.removeprefix("module.") in ignored:
            continue
        if parameter.device.type != "cpu" or not parameter.is_contiguous():
            return (), ""
        size = min(parameter.numel() * parameter.element_size(), PART)
        copied.append((name, ctypes.string_at(parameter.data_ptr(), size)))
    ranks = torch.distributed.get_process_group_ranks(replica.process_group)
    return copied, f"{len(ranks)}:{hashlib.sha256(repr(ranks).encode()).hexdigest()[:8]}"


def digests(copied: CopiedWeights) -> str:
    """Return "NAME=HASH NAME=HASH ..." over groups of layers, in the order of the model."""
    for depth in range(_DEEPEST, 0, -1):
        groups: dict[str, Any] = {}
        for name, data in copied:
            parts = name.removeprefix("module.").split(".")[:-1][:depth]
            groups.setdefault(".".join(parts) or "model", hashlib.sha256()).update(data)
        if len(groups) <= MOST_GROUPS:
            return " ".join(f"{name}={found.hexdigest()[:8]}" for name, found in groups.items())
    return ""
