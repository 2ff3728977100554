"""Stalls as Horovod's coordinator logs them: which ranks did not submit which operation."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from ....formats.training_logs.watchdog import WatchdogReport
from ....vocabulary.samples import Event
from ..job.size import MOST_RANKS

SIGNATURE = "horovod.stalled"

_OF_OPERATION = re.compile(r"(?P<op>\S{1,400}) \[missing ranks: ?(?P<ranks>\d{1,7}(?:, ?\d{1,7})*)")
_OF_RANK = re.compile(r"^(?P<rank>\d{1,7})!?: \[(?P<ops>[^\]]*)")
_COORDINATOR = 0
_SECONDS = 60.0
"""Between two warnings, where nobody sets it otherwise."""


@dataclass(slots=True)
class HorovodStall:
    """All that the lines of the newest stall say: by operation, who did not submit it."""

    lacking: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    begun: float | None = None
    last: tuple[str, int] = ("", 0)
    """File and number of the newest line."""

    def learn(self, text: str) -> bool:
        """Take the text of a line; return whether it names ranks."""
        if found := _OF_OPERATION.search(text):
            ranks = {int(one) for one in found["ranks"].split(",")}
            operations = [found["op"]]
        elif found := _OF_RANK.match(text.strip()):
            ranks = {int(found["rank"])}
            operations = [one.strip() for one in found["ops"].split(",")]
        else:
            return False
        for operation in operations:
            self.lacking[operation] |= {rank for rank in ranks if rank < MOST_RANKS}
        return True

    @property
    def late(self) -> frozenset[int]:
        """Return the ranks that submitted nothing of what the others wait for."""
        return frozenset.intersection(*map(frozenset, self.lacking.values() or [()]))

    @property
    def apart(self) -> frozenset[int]:
        """Return ranks that each wait for others: they did not submit the same."""
        every = frozenset[int]().union(*self.lacking.values())
        return every if not self.late and len(every) > 1 else frozenset()

    @property
    def waiting(self) -> int:
        """Return a rank that waits: the coordinator, which logs it, or the first one after it."""
        rank = _COORDINATOR
        while rank in self.late:
            rank += 1
        return rank

    def report(self, at: float | None) -> WatchdogReport:
        """Return what a line of the stall says of who waits, written at `at`."""
        if self.begun is None:
            self.begun = None if at is None else at - _SECONDS
        ran = _SECONDS if at is None or self.begun is None else max(at - self.begun, _SECONDS)
        return WatchdogReport(ran=ran)


def is_stall(event: Event) -> bool:
    """Tell whether an event is such a line."""
    return event.attributes.get("signature") == SIGNATURE
