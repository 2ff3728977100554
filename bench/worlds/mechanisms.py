"""The rows of faults and habits, made into what changes in a case.

Amounts of a row may use: `at` (the time, again and again where it repeats; `k`: how often before),
`onset`, `begin`, `end`, `first` (the first step) in seconds; `step`, `compute` (seconds of a usual
step); `world`, `local` (ranks of the job, of a host); `limit`, `host_memory` (bytes), `power`,
`idle` (W), `clock` (Hz); `plain`, `weak` (1 or 0); `coin` (0 to 1); `amount` (of a habit); and what
the row draws.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import amounts, culprits, endings, tables
from .amounts import Amount
from .culprits import CulpritEntity
from .effects import CaseTruth, EndMark, ExtraSeries, RestartMark, Scalar, SeriesEdit, StepEffect
from .situation import CaseSituation, filled
from .tables import Effect, MechanismRow

_WORDS = frozenset(
    ("phase", "how", "metric", "metrics", "of", "line", "ranks", "one_of", "tokens", "silent")
) | {"code", "signal", "back"}
"""Keys of entries that hold no amount."""
_OF_RANKS = ("training.", "collective.", "process.", "hw.")


def add(case: CaseSituation) -> None:
    """Add what the case's habits change, then its fault."""
    for name, amount in case.plan.habits.items():
        row, rng = tables.habits()[name], case.plan.rng(f"habit {name}")
        MechanismRun(case, row, culprits.chosen(case, "job", rng), rng, amount).add()
    fault = case.plan.fault
    if fault is not None:
        culprit = culprits.chosen(case, str(case.rng.choice(fault.who)), case.rng)
        run = MechanismRun(case, fault, culprit, case.rng, 0.0)
        run.add()
        onset = max(case.begin, run.number(fault.onset))
        case.truth = CaseTruth(
            fault.id, culprit.type, culprit.id, culprit.host, culprit.ranks, onset,
            also=culprit.also,
        )  # fmt: skip


class MechanismRun:
    """One row at work in a case; `amount`: of a habit."""

    def __init__(
        self,
        case: CaseSituation,
        row: MechanismRow,
        culprit: CulpritEntity,
        rng: np.random.Generator,
        amount: float,
    ) -> None:
        self._case, self._row, self._culprit, self._rng = case, row, culprit, rng
        device, pace = case.plan.device, case.pace
        self._names: dict[str, Any] = {
            "onset": case.onset, "begin": case.begin, "end": case.end, "first": case.first_step_at,
            "step": pace.step, "compute": pace.compute, "world": case.plan.world,
            "local": case.plan.per_host, "limit": device.memory * 2.0**30,
            "host_memory": case.host_memory, "power": device.power, "idle": device.idle,
            "clock": device.clock * 1e6, "plain": float(not case.weak), "weak": float(case.weak),
            "coin": float(rng.random()), "amount": amount,
        }  # fmt: skip

    def number(self, amount: Amount) -> float:
        """Return an amount of the row as it is now."""
        return float(amounts.value(amount, self._names))

    def add(self) -> None:
        """Add everything that the row changes, as often as it repeats."""
        case, row = self._case, self._row
        self._draw()
        case.first_step_at = self.number(row.first_step)
        for name, amount in row.curve.items():
            setattr(case.curve, name, self.number(amount))
        at = self.number(row.begins)
        for k in range(row.times if row.again else 1):
            if at >= case.end:
                break
            self._names |= {"at": at, "k": k}
            self._once(at)
            self._draw()
            at += self.number(row.again or 0.0)

    def _draw(self) -> None:
        for name, (low, high, *weak) in self._row.draw.items():
            least, most = weak if weak and self._case.weak else (low, high)
            self._names[name] = float(self._rng.uniform(least, most))

    def _once(self, at: float) -> None:
        case, row = self._case, self._row
        lasting = {"ranks": "ranks", "begin": "at", "end": "inf"}
        for step in self._entries(row.steps, **lasting, spread=0.1):
            step["ranks"] = self._ranks(step["ranks"])
            case.step_effects.append(StepEffect(**step))
        for edit in self._entries(row.edits, **lasting, value=0.0):
            labels, word = edit.pop("of", {}), edit.pop("ranks")
            for metric in edit.pop("metrics"):
                for host, match in self._where(metric, word):
                    merged = {**match, **labels}
                    case.edits.append(SeriesEdit(metric, host=host, match=merged, **edit))
        for extra in self._entries(row.extras, **lasting | {"ranks": "rank"}, value=1.0):
            labels, word = extra.pop("of"), extra.pop("ranks")
            extra["begin"] = max(case.begin, extra["begin"])
            for rank in self._ranks(word):
                named = case.fields(rank) | {"culprit": case.layout.ranks[self._culprit.rank]}
                filled_in = {key: filled(value, named) for key, value in labels.items()}
                host = case.layout.host_of(rank)
                case.extras.append(ExtraSeries(host=host, attributes=filled_in, **extra))
        for line in self._entries(row.lines, ranks="rank", at="at"):
            for rank in self._ranks(line["ranks"]):
                case.say(line["line"], rank, line["at"])
        for ending in self._entries(row.ends, ranks="ranks", at="at"):
            ending["ranks"] = self._ranks(ending["ranks"])
            endings.end(case, EndMark(**ending))
        if row.clock:
            case.clock_leaps[case.layout.ranks[self._culprit.rank].host] = (
                at,
                self.number(row.clock),
            )
        for mark in self._entries([row.restart] if row.restart else [], world="world", back=0):
            case.restart = RestartMark(at, mark["seconds"], int(mark["world"]), mark["back"])

    def _entries(self, entries: Iterable[Effect], **usual: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries that apply, their amounts as numbers."""
        for entry in entries:
            row = {**usual, **entry}
            if self.number(row.pop("when", 1.0)):
                yield {key: one if key in _WORDS else self.number(one) for key, one in row.items()}

    def _ranks(self, word: str) -> tuple[int, ...]:
        return culprits.selected(self._case, self._culprit, word)

    def _where(self, metric: str, word: str) -> Iterator[tuple[str | None, Mapping[str, Scalar]]]:
        """Yield (host, attributes) of the series of a metric that a word of a row means."""
        layout, culprit = self._case.layout, self._culprit
        if word in ("groups", "groups_between_hosts"):
            for group in layout.groups:
                hosts = {layout.host_of(one) for one in group.ranks}
                if {*culprit.ranks} & {*group.ranks} and (word == "groups" or len(hosts) > 1):
                    yield None, {"group": group.name}
            return
        if word == "port":
            yield culprit.host, {"device": layout.nic_of(culprit.rank)}
            return
        ranks = self._ranks(word)
        if ranks == self._case.everybody:
            yield None, {}
        elif metric.startswith(_OF_RANKS) and not metric.startswith("hw.network."):
            for rank in ranks:
                of_device = metric.startswith("hw.")
                key = "hw.id" if of_device else "rank"
                yield layout.host_of(rank), {key: layout.ranks[rank].gpu if of_device else rank}
        else:
            for host in dict.fromkeys(layout.host_of(rank) for rank in ranks):
                yield host, {}
