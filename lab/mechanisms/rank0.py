"""Work that rank 0 alone does while its peers wait: in each step, or after a gather."""

import time

from .contract import FaultMechanism, JobChange

EXTRA_SECONDS = 0.04
"""CPU time that it spends on the data of all ranks before each step."""

GATHER_STEPS = 20
GATHERED_BYTES = 100_000
"""What each rank sends to rank 0: predictions, which that sorts. About half a second of work."""


class _Rank0Preparation(JobChange):
    def load(self, dataset: "list[bytes]") -> None:  # noqa: ARG002
        # By CPU time: where the machine is shared it is as much work, and takes longer.
        until = time.thread_time() + EXTRA_SECONDS
        while time.thread_time() < until:
            sum(range(2000))


PREPROCESSING = FaultMechanism(
    name="rank0-preprocessing",
    fault="balance.rank0_preprocessing",
    change=_Rank0Preparation,
    first=True,
    text=f"rank {{rank}} on {{host}}: it prepares the data of all ranks for "
    f"{1000 * EXTRA_SECONDS:.0f} ms of CPU time before each step",
)


class _Rank0Prediction(JobChange):
    def gathered_bytes(self) -> int:
        return GATHERED_BYTES


GATHER = FaultMechanism(
    name="rank0-gather",
    fault="balance.rank0_gather",
    change=_Rank0Prediction,
    first=True,
    everywhere=True,
    job={"RANKSCOPE_LAB_GATHER_STEPS": str(GATHER_STEPS)},
    text=f"every rank sends its predictions ({GATHERED_BYTES // 1000} kB) to rank {{rank}} on "
    f"{{host}} at every {GATHER_STEPS}th step, where they are sorted",
)
