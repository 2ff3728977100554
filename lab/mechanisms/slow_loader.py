"""A data loader that takes longer for each batch."""

import time

from .contract import FaultMechanism, JobChange

SECONDS = 0.15
"""How much longer it takes: more than a step, also where four ranks share two slow cores.

Of less the ranks that do not wait for data compete for the cores meanwhile, and that is a second
fault, as real as the first.
"""


class _SlowLoader(JobChange):
    def load(self, dataset: "list[bytes]") -> None:  # noqa: ARG002
        time.sleep(SECONDS)


SLOW = FaultMechanism(
    name="slow-loader",
    fault="software.dataloader_slow",
    change=_SlowLoader,
    text=f"rank {{rank}} on {{host}}: its data loader takes {1000 * SECONDS:.0f} ms longer for "
    "each batch",
)
