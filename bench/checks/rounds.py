"""Rounds of a check: a healthy node, its peer in the same minute, and one with planted slowness."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rankscope.checks import children, judging
from rankscope.checks.children import Command
from rankscope.checks.judging import ComparedValues
from rankscope.checks.measurements.rows import CheckOrder, MeasuredRow
from rankscope.vocabulary.checks import ActiveCheck, catalogue

STOPPED = "cpu, stopped"
"""The check of the CPU whose child is stopped again and again, in the place of added work."""
NAMES = ("cpu", STOPPED, "matmul", "memory_bandwidth", "local_disk", "all_reduce")
_MOST_SECONDS = 60.0


@dataclass(slots=True)
class CheckTally:
    """Verdicts by what a node was compared with, fleet or peer, and whether it was slowed."""

    verdicts: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def count(self, compared: str, node: str, verdict: str) -> None:
        self.verdicts.setdefault((compared, node), Counter())[verdict] += 1


class CheckRounds:
    """One check: a fleet measured first, then rounds; a planted node is slower by a share."""

    def __init__(self, name: str, *, slower: float, repeat_seconds: float, fleet: int) -> None:
        self.name = name
        self._check: ActiveCheck = catalogue()[name.partition(",")[0]]
        self._slower = slower
        self._repeat_seconds = repeat_seconds
        self.tally = CheckTally()
        values = (judging.typical(self._healthy()) for _ in range(fleet))
        self._fleet = ComparedValues(tuple(v for v in values if v is not None), "the fleet")

    def round(self) -> None:
        """Measure a healthy node, a peer, a slowed node, and judge each."""
        peer = self._healthy()
        for node, row in (("healthy", self._healthy()), ("slowed", self._slowed())):
            for compared, verdict in self._verdicts(row, peer):
                self.tally.count(compared, node, verdict)

    def _verdicts(self, row: MeasuredRow, peer: MeasuredRow) -> list[tuple[str, str]]:
        value = judging.typical(peer)
        beside = ComparedValues(
            () if value is None else (value,), "the peer", judging.standard_error(peer)
        )
        return [
            ("fleet", judging.judge(self._check, row, fleet=self._fleet).verdict),
            ("peer", judging.judge(self._check, row, peer=beside).verdict),
        ]

    def _healthy(self) -> MeasuredRow:
        return self._measured(0.0, children.CHILD)

    def _slowed(self) -> MeasuredRow:
        if self.name == STOPPED:
            command = (sys.executable, "-m", "bench.checks.slowed", str(self._slower))
            return self._measured(0.0, command)
        # So much more work that the rate is lower by the share.
        return self._measured(self._slower / (1 - self._slower), children.CHILD)

    def _measured(self, extra: float, command: Command) -> MeasuredRow:
        order = CheckOrder(self._check.name, seconds=self._repeat_seconds, extra=extra)
        rows: Sequence[MeasuredRow] = children.measure(
            order, most_seconds=_MOST_SECONDS, yielding=lambda: "", command=command
        )
        return rows[0]
