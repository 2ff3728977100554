"""NaN: in one activation of one rank, or in a sample that every rank reads."""

from .contract import FaultMechanism, JobChange


class _OneBatch(JobChange):
    def __init__(self) -> None:
        self._done = False

    def spoils(self) -> bool:
        done, self._done = self._done, True
        return not done


ACTIVATION = FaultMechanism(
    name="nan-activation",
    fault="numerics.nan_rank",
    change=_OneBatch,
    text="rank {rank} on {host}: one activation of its next batch becomes NaN",
)


class _EveryBatch(JobChange):
    """A bad sample that a shard of every rank holds: they meet it within one step."""

    def spoils(self) -> bool:
        return True


SAMPLE = FaultMechanism(
    name="nan-samples",
    fault="numerics.nan_data",
    at="job",
    change=_EveryBatch,
    everywhere=True,
    job={"RANKSCOPE_LAB_ORDER_EVERY": "50"},
    text="every rank: its batches hold NaN from one step on",
)
"""Orders are looked at in every 50th step only, so that all ranks act in the same one."""
