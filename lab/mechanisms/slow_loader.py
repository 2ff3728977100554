"""A data loader that takes longer for each batch."""

import time

from .contract import Change, Mechanism

SECONDS = 0.15
"""How much longer it takes: more than a step, also where four ranks share two slow cores.

Of less the ranks that do not wait for data compete for the cores meanwhile, and that is a second
fault, as real as the first.
"""


class _Sleeps(Change):
    def load(self, dataset: "list[bytes]") -> None:  # noqa: ARG002
        time.sleep(SECONDS)


SLOW = Mechanism(
    name="slow-loader",
    fault="software.dataloader_slow",
    change=_Sleeps,
    text=f"rank {{rank}} on {{host}}: its data loader takes {1000 * SECONDS:.0f} ms longer for "
    "each batch",
)
