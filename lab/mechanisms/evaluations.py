"""An evaluation that nobody announces: every rank only computes for a while. No fault."""

import time

from .contract import UNHURRIED, Change, Mechanism

SECONDS, EVERY_STEPS = 4.0, 80


class _Evaluates(Change):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        if index % EVERY_STEPS == 0:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                sum(range(100_000))
                time.sleep(0.05)  # the device's part


UNANNOUNCED = Mechanism(
    name="evaluation",
    fault="",
    at="job",
    change=_Evaluates,
    everywhere=True,
    job=UNHURRIED,
    quiet=100.0,
    text=f"every rank evaluates for {SECONDS:.0f} s at every {EVERY_STEPS}th step, unannounced",
)
