"""A rank that calls another collective than its peers, or none."""

from .contract import FaultMechanism, JobChange


class _OtherCollective(JobChange):
    def other_collective(self) -> bool:
        return True


class _SkippedCollective(JobChange):
    def skips_collective(self) -> bool:
        return True


class _SkippedThenWaits(_SkippedCollective):
    def waits_alone(self) -> bool:
        return True


class _OtherSize(JobChange):
    def other_size(self) -> int:
        return 64


OTHER = FaultMechanism(
    name="other-collective",
    fault="software.collective_mismatch",
    change=_OtherCollective,
    trainers=("torch",),
    text="rank {rank} on {host}: it calls a broadcast where its peers call an all-reduce",
)
SKIPPED = FaultMechanism(
    name="skipped-collective",
    fault="software.collective_mismatch",
    change=_SkippedCollective,
    trainers=("torch",),
    text="rank {rank} on {host}: it leaves out the all-reduces that its peers call, and steps on",
)
SKIPPED_THEN_WAITS = FaultMechanism(
    name="skipped-then-waits",
    fault="software.collective_mismatch",
    change=_SkippedThenWaits,
    trainers=("torch",),
    answers=("software.collective_mismatch", "software.stuck_process"),
    text="rank {rank} on {host}: it leaves out the all-reduce that its peers call, and "
    "waits in a barrier",
)
SIZE = FaultMechanism(
    name="other-size",
    fault="software.collective_mismatch",
    change=_OtherSize,
    trainers=("torch",),
    answers=("software.collective_mismatch", "software.crash"),
    text="rank {rank} on {host}: it calls an all-reduce of another size than its peers",
)
"""In torch only: the all-reduce of the numpy job is a protocol of two messages, without kinds."""
