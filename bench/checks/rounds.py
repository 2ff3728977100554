"""Rounds of a check: a healthy node, its peer in the same minute, nodes with planted slowness."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rankscope.checks import children, judging, node_checks
from rankscope.checks.children import Command
from rankscope.checks.judging import ComparedValues, JudgedCheck
from rankscope.checks.measurements.rows import CheckOrder, MeasuredRow, joined, standard_error
from rankscope.vocabulary.checks import ActiveCheck, CheckVerdict, catalogue

STOPPED = "cpu, stopped"
"""The check of the CPU whose child is stopped again and again, in the place of added work."""
NAMES = ("cpu", STOPPED, "matmul", "memory_bandwidth", "local_disk", "all_reduce")


@dataclass(slots=True)
class CheckTally:
    """Verdicts by what a node was compared with, fleet or peer, and the share planted in it.

    seconds: how long each run took until its verdict, what the peer measured again included.
    values: by the share planted, what the runs stand for.
    """

    verdicts: dict[tuple[str, float], Counter[CheckVerdict]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    """Of healthy runs that were called slow or failed."""
    seconds: list[float] = field(default_factory=list)
    values: dict[float, list[float]] = field(default_factory=dict)


class CheckRounds:
    """One check: a fleet measured first, then rounds; a planted node is slower by a share."""

    def __init__(self, name: str, *, slower: Sequence[float], seconds: float, fleet: int) -> None:
        self.name = name
        self.tally = CheckTally()
        self._check: ActiveCheck = catalogue()[name.partition(",")[0]]
        self._slower = slower
        self._seconds = seconds
        values = (judging.typical(self._measured(0.0)) for _ in range(fleet))
        self._fleet = ComparedValues(tuple(v for v in values if v is not None), "the fleet")
        self._peer = self._measured(0.0)

    def round(self, *, planted: bool) -> None:
        """Measure a node after its peer, which the next one has as its own, and judge it."""
        for share in (*(self._slower if planted else ()), 0.0):
            begun = time.monotonic()
            row = self._measured(share)
            if (own := judging.typical(row)) is not None:
                self.tally.values.setdefault(share, []).append(own)
            self._count(share, "fleet", judging.judge(self._check, row, fleet=self._fleet))
            self._count(share, "peer", self._beside_peer(share, row))
            self.tally.seconds.append(time.monotonic() - begun)
            if not share:
                self._peer = row

    def _count(self, share: float, compared: str, judged: JudgedCheck) -> None:
        counted = self.tally.verdicts.setdefault((compared, share), Counter())
        counted[judged.verdict] += 1
        if not share and judged.verdict in ("slow", "failed"):
            self.tally.reasons[f"{compared}: {judged.reason}"] += 1

    def _beside_peer(self, share: float, row: MeasuredRow) -> JudgedCheck:
        """Return the verdict beside the peer; what is open is measured again on both."""
        peer = self._peer
        for look in range(node_checks.MORE_LOOKS):
            judged = self._judged(row, peer)
            if not judged.open_after(look):
                return judged
            (peer,) = joined([peer], [self._measured(0.0)])
            (row,) = joined([row], [self._measured(share)])
        return self._judged(row, peer)

    def _judged(self, row: MeasuredRow, peer: MeasuredRow) -> JudgedCheck:
        value = judging.typical(peer)
        values = () if value is None else (value,)
        error = standard_error(peer.samples)
        known = ComparedValues(values, "the peer", error, peer.others)
        return judging.judge(self._check, row, peer=known)

    def _measured(self, share: float) -> MeasuredRow:
        """Measure as `rankscope check` does, with more work: the rate is lower by the share."""
        stopped = self.name == STOPPED and share > 0
        command: Command = (
            (sys.executable, "-m", "bench.checks.slowed", str(share)) if stopped else children.CHILD
        )
        order = CheckOrder(
            self._check.name,
            seconds=self._seconds,
            longest=node_checks.LONGEST * self._check.seconds,
            extra=0.0 if stopped else share / (1 - share),
        )
        rows = children.measure(
            order, most_seconds=self._check.seconds, yielding=lambda: "", command=command
        )
        return rows[0]
