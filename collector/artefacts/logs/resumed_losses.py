"""Losses that climb away from where a training was taken up again, by lines of any form.

Weights that were lost show in the first loss. Where that is as it had been, by an evaluation of
what was loaded or by the rows before, and the next ones climb and stay up, the updates are other
ones: the optimizer's averages, or the learning rate, were not taken up. A loss that is higher from
its first row on may be of other data, which is left to the curves (bad_resume.py); so is one that
comes down again, as behind a rate that warms up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ....formats.training_logs import cleaning, named, reloads, resumes
from ....formats.training_logs.learned import fields, names
from ....formats.training_logs.learned.fields import LineField
from ....vocabulary.log_lines import RESUME_CLIMBS, RESUME_EXPLAINED
from ....vocabulary.samples import Event, Scalar, TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

FIRST, LAST, FEWEST = 2, 3, 5
"""Rows that stand where the checkpoint stood, rows that are all above, and rows at all."""

TIMES, NEAR = 2.0, 1.5
"""By what factor the last rows stand above the first ones, and above the level before; and within
which the first ones and that level lie."""

SAME = 0.05
"""Share by which the losses of two evaluations of one checkpoint may differ."""

WARMS = 1.5
"""A learning rate that rises by this factor over the rows warms up."""

SOON = 100
"""So many rows after the resume a climb has begun, if it follows from it."""
_MEAN = 3
"""The rank of a name of losses that are averaged over what came before."""


@dataclass(frozen=True, slots=True)
class _LossRow:
    """A line, from 1, the loss that it says, and the learning rate; None: it says none."""

    line: int
    text: str
    loss: float
    rate: float | None


@dataclass(slots=True)
class _LossRows:
    """The rows of a training before and after its last resume, and the level by evaluations.

    told: a line says that it resumed. evaluated: the last evaluation above the rows after it,
    evaluated_before: the last one above the resume; newest: the last one of all so far.
    """

    before: list[_LossRow] = field(default_factory=list[_LossRow])
    after: list[_LossRow] = field(default_factory=list[_LossRow])
    told: bool = False
    evaluated: float | None = None
    evaluated_before: float | None = None
    newest: float | None = None
    mean: bool = False
    """The loss is one that is averaged over what came before."""
    later: bool = False
    """The first row is of a later epoch than the first one."""


def add(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the row from which on the loss of each of some logs climbs; an event says so too."""
    if found.telling:
        return
    for log, line in said:
        if line.signature == RESUME_EXPLAINED:
            # It is known when the first losses are compared.
            first = min((sample.at for _, sample in found.samples), default=log.at)
            pairs: dict[str, Scalar] = {
                "signature": line.signature, "role": "confirmation", "text": line.text,
            }  # fmt: skip
            found.events.append(Event("log.fault", first, pairs, resource))
            continue
        pasted.tell_each([(log, line)], resource, found, by="its losses")


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the last row of a loss that climbs after a resume, None where none does."""
    rows = _read(lines)
    level, climbed = _level(rows), rows.after
    if rows.mean or level is None or len(climbed) < FEWEST or not _climbs(climbed, level):
        return _explained(rows)
    first, last = climbed[0], climbed[-1]
    text = (
        f"the loss climbs from {first.loss:.3g} after the resume to {last.loss:.3g}, where it had "
        f"been {level:.3g}: {cleaning.shown(last.text)}"
    )
    return PastedLine(last.line, RESUME_CLIMBS, text, guessed=not rows.told)


def _explained(rows: _LossRows) -> PastedLine | None:
    """Return why a loss may be higher since a resume, None where nothing says it.

    What was loaded is what was saved, by their evaluations, the losses are means that begin anew,
    or the learning rate warms up.
    """
    old, new = rows.evaluated_before, rows.evaluated
    if not rows.told or not rows.before or not rows.after:
        return None
    if old is not None and new is not None and abs(new - old) <= SAME * abs(old):
        text = f"an evaluation of what was loaded has a loss of {new:.3g}, before it was {old:.3g}"
    elif rows.mean:
        text = "the losses are means over what came before, which begin anew"
    elif _warms(rows.after) and rows.after[0].loss <= max(row.loss for row in rows.before[-LAST:]):
        text = "the learning rate warms up anew, from a loss that is as before"
    else:
        return None
    return PastedLine(rows.after[0].line, RESUME_EXPLAINED, text)


def _level(rows: _LossRows) -> float | None:
    """Return where the loss stood as it was saved, None where nothing shows it, or no resume.

    An evaluation above the first row of a later epoch shows both: what was loaded is looked at.
    """
    if rows.told and rows.before:
        newest = sorted(row.loss for row in rows.before[-LAST:])
        return newest[len(newest) // 2]
    return rows.evaluated if rows.told or rows.later else None


def _climbs(rows: Sequence[_LossRow], level: float) -> bool:
    first = [row.loss for row in rows[:FIRST]]
    last, soon = ([row.loss for row in part[-LAST:]] for part in (rows, rows[:SOON]))
    if not 0 < max(first) <= NEAR * level:
        return False
    high = max(TIMES * max(first), NEAR * level)
    return min(last + soon) >= high and not _warms(rows)


def _warms(rows: Sequence[_LossRow]) -> bool:
    """Tell whether the learning rate of rows warms up."""
    rates = [row.rate for row in rows if row.rate]
    return bool(rates) and max(rates) >= WARMS * rates[0]


def _read(lines: Sequence[str]) -> _LossRows:
    """Return the rows before and after the last line by which a log is resumed."""
    rows = _LossRows()
    saved = reloads.SavedCheckpoints()
    label = ""
    for number, line in enumerate(lines, 1):
        text = cleaning.clean(line.encode()).text
        if resumes.read(text, 0.0, None) or saved.read(text, 0.0, None):
            rows.before, rows.after = rows.before + rows.after, []
            rows.told, rows.evaluated_before, rows.evaluated = True, rows.newest, None
            continue
        said = fields.read(text) if "loss" in text.lower() else []
        if named.of_a_test(text):
            tested = (one.value for one in said if "loss" in one.words)
            rows.newest = next(tested, rows.newest)
            rows.evaluated = rows.evaluated if rows.after else rows.newest
            continue
        loss = _loss(said)
        if loss is None or (label and loss.label != label):
            continue
        if not label:
            label = loss.label
            rows.mean = names.of_loss(label) == _MEAN
            rows.later = any(names.of_epoch(one.label) and one.value > 1 for one in said)
        rate = next((one.value for one in said if "lr" in one.words), None)
        rows.after.append(_LossRow(number, text, loss.value, rate))
    return rows


def _loss(said: Sequence[LineField]) -> LineField | None:
    """Return the loss of a row, None where it has none."""
    ranked = [
        (rank, place)
        for place, one in enumerate(said)
        if (rank := names.of_loss(one.label)) is not None
    ]
    return said[min(ranked)[1]] if ranked else None
