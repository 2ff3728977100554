"""A rank that calls another collective than its peers."""

from .contract import Change, Mechanism


class _Other(Change):
    def other_collective(self) -> bool:
        return True


OTHER = Mechanism(
    name="other-collective",
    fault="software.collective_mismatch",
    change=_Other,
    trainers=("torch",),
    text="rank {rank} on {host}: it calls a broadcast where its peers call an all-reduce",
)
"""In torch only: the all-reduce of the numpy job is a protocol of two messages, without kinds."""
