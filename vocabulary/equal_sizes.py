"""Which numbers of elements of a collective are the same on every member of its group.

Ranks that gather lists may give unequal parts, and those that scatter lists may get such; who
exchanges all with all, or gathers at one rank, has numbers of its own. Names are torch's.
"""

_BOTH = frozenset({
    "ALLREDUCE", "ALLREDUCE_COALESCED", "BROADCAST", "REDUCE", "BARRIER", "ALLGATHER_BASE",
    "REDUCE_SCATTER_BASE",
})  # fmt: skip
_UNSET = frozenset({"-1", str((1 << 64) - 1)})
"""What torch prints of a batch of operations, whose number of elements it never sets."""


def equal_size(op: str, taken: str | None, given: str | None) -> str:
    """Return what of the elements taken and given must be equal among members, "" for nothing."""
    name = op.upper().strip("_")
    if not taken or not given or _UNSET & {taken, given}:
        return ""
    if name in _BOTH:
        return f"{taken}/{given}"
    return {"ALLGATHER": given, "REDUCE_SCATTER": taken}.get(name, "")
