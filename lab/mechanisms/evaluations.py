"""An evaluation that nobody announces: every rank only computes for a while. No fault."""

import time

from .contract import UNHURRIED, FaultMechanism, JobChange

SECONDS, EVERY_STEPS = 4.0, 80


class _JobEvaluation(JobChange):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        if index % EVERY_STEPS == 0:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                sum(range(100_000))
                time.sleep(0.05)  # the device's part


UNANNOUNCED = FaultMechanism(
    name="evaluation",
    fault="",
    at="job",
    change=_JobEvaluation,
    everywhere=True,
    job=UNHURRIED,
    quiet=100.0,
    text=f"every rank evaluates for {SECONDS:.0f} s at every {EVERY_STEPS}th step, unannounced",
)
