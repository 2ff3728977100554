"""A rank that calls another collective than its peers, or none."""

from .contract import Change, Mechanism


class _Other(Change):
    def other_collective(self) -> bool:
        return True


class _Skipped(Change):
    def skips_collective(self) -> bool:
        return True


class _SkippedThenWaits(_Skipped):
    def waits_alone(self) -> bool:
        return True


class _OtherSize(Change):
    def other_size(self) -> int:
        return 64


OTHER = Mechanism(
    name="other-collective",
    fault="software.collective_mismatch",
    change=_Other,
    trainers=("torch",),
    text="rank {rank} on {host}: it calls a broadcast where its peers call an all-reduce",
)
SKIPPED = Mechanism(
    name="skipped-collective",
    fault="software.collective_mismatch",
    change=_Skipped,
    trainers=("torch",),
    text="rank {rank} on {host}: it leaves out the all-reduces that its peers call, and steps on",
)
SKIPPED_THEN_WAITS = Mechanism(
    name="skipped-then-waits",
    fault="software.collective_mismatch",
    change=_SkippedThenWaits,
    trainers=("torch",),
    answers=("software.collective_mismatch", "software.stuck_process"),
    text="rank {rank} on {host}: it leaves out the all-reduce that its peers call, and "
    "waits in a barrier",
)
SIZE = Mechanism(
    name="other-size",
    fault="software.collective_mismatch",
    change=_OtherSize,
    trainers=("torch",),
    answers=("software.collective_mismatch", "software.crash"),
    text="rank {rank} on {host}: it calls an all-reduce of another size than its peers",
)
"""In torch only: the all-reduce of the numpy job is a protocol of two messages, without kinds."""
