"""The curve from a first cause's lead to how often it is right, and from where it is sure enough.

An answer is an incident above info with a named first cause: false incidents and wrong entities
are wrong answers. Those of each generator together weigh as much as those of any other, however
many it has. The curve is a logistic function, an isotonic regression or the mean of both, whichever
makes held-out answers likelier; none of them falls. Faults are held out in turn, then clusters (the
shape that was drawn) and whole generators, as a site has faults, clusters and habits of its own;
what is reported is of all three. From where confidence is high follows from the probabilities of
held-out answers, too. The same answers give the same curve.

What an answer loses that rests on one sign (`lone`), and for each doubling beyond the settings of
the cases that it is fitted to (`far`), is what makes held-out answers likeliest too, `far` where
whole generators are held out: their settings are beyond those of the others.
"""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from rankscope.alerts.causes import calibration, hypotheses
from rankscope.alerts.causes.calibration import Curve, ProbabilityCalibration
from rankscope.alerts.causes.catalogue import CauseCatalogue
from rankscope.alerts.causes.engine import others_of
from rankscope.alerts.causes.reach import NOWHERE, AnswerSetting, CalibratedReach
from rankscope.lab.scoring import matching, placing, ranked
from rankscope.vocabulary.faults import UNKNOWN
from rankscope.vocabulary.ids import IncidentId

from .evaluations import RerankedCase, TrackedCase

Floats = NDArray[np.float64]
Fit = Callable[[Sequence["CalibrationAnswer"]], Curve]

MOST_WRONG = 0.02
"""Of the answers of high confidence at most this share may be wrong."""

INTERVALS = (0.5, 64.0)
"""Seconds between two reports of a host in the cases of all generators, which do not say it."""

PARTS = 8
LEADS = (0.0, 8.0)
"""A larger lead says nothing more: few answers have one."""

LONES, FARS = (0.0, 0.5, 1.0, 1.5, 2.0), (0.0, 0.5, 1.0, 2.0)
"""Nats that are tried. Of several that say the same the last is taken: it claims least."""

LEAST_COVERAGE = 0.05
"""Answers of less coverage than this share of them has are beyond all that was fitted to."""

DOUBT = 2.0
"""Imaginary answers at either end, right as often as all are: no curve ends at never or always."""


@dataclass(frozen=True, slots=True)
class CalibrationAnswer:
    """A first cause with a name: its lead in nats, whether it is right, and what it was said of."""

    lead: float
    right: bool
    fault: str
    """The true fault, "" where the job was healthy."""
    shape: str = ""
    """The cluster that was drawn."""
    world: str = ""
    """The generator, "" for the simulator of the laboratory."""
    setting: AnswerSetting = NOWHERE


HELD_OUT: Mapping[str, Callable[[CalibrationAnswer], str]] = {
    "fault": lambda row: row.fault,
    "shape": lambda row: row.shape,
    "world": lambda row: row.world,
}


@dataclass(frozen=True, slots=True)
class CalibratedCurve:
    """A curve and what held-out answers say of it: loss in nats an answer, calibration error.

    Both by what was held out, as `HELD_OUT` names it.
    """

    name: str
    curve: Curve
    lone: float
    far: float
    losses: Mapping[str, float]
    errors: Mapping[str, float]

    @property
    def loss(self) -> float:
        """Return the mean loss over what was held out."""
        return sum(self.losses.values()) / len(self.losses)

    @property
    def error(self) -> float:
        return max(self.errors.values())


def answers(case: TrackedCase, knowledge: CauseCatalogue) -> list[CalibrationAnswer]:
    """Return the answers of a case under a catalogue, at the end of each incident."""
    replayed = RerankedCase()
    replayed.play(case.evaluations, knowledge)
    truth = case.truths[0] if case.truths else None
    if truth is not None and not case.case["observable"]:
        return []
    rows = replayed.seen.values()
    made = matching.outcome(
        truth,
        list(rows),
        step_seconds=case.step_seconds,
        report_seconds=float(case.case.get("report_seconds", 0.0)),
    )
    counted = {row.id for row in (*made.duplicates, *made.false)}
    if made.found is not None:
        counted.add(made.found.id)
    found: list[CalibrationAnswer] = []
    for row in rows:
        cause = replayed.tracker.incidents[IncidentId(row.id)].root_cause
        if row.id not in counted or row.fault == UNKNOWN:
            continue
        right = any(row.fault == true.fault and placing.right(row, true) for true in case.truths)
        lead = calibration.lead(cause.hypotheses, cause.unknown.score, others_of(cause))
        setting = AnswerSetting(
            ranks=case.evaluations[0].topology.world_size,
            coverage=cause.data_quality.coverage,
            signs=hypotheses.signs(cause.hypotheses[0]),
        )
        fault = truth.fault if truth else ""
        found.append(CalibrationAnswer(lead, right, fault, _shape(case), setting=setting))
    return found


def logistic(rows: Sequence[CalibrationAnswer]) -> Curve:
    """Return a logistic curve, level where more lead would mean less."""
    leads, right, weights = _columns(rows)
    if right.min() == right.max():
        return _knots(lambda at: np.full(len(at), _share(rows)))
    fit = LogisticRegression(C=1.0).fit(leads.reshape(-1, 1), right, sample_weight=weights)
    if fit.coef_[0, 0] <= 0:
        return _knots(lambda at: np.full(len(at), _share(rows)))
    return _knots(lambda at: fit.predict_proba(at.reshape(-1, 1))[:, 1])


def isotonic(rows: Sequence[CalibrationAnswer]) -> Curve:
    leads, right, weights = _columns(rows)
    fit = IsotonicRegression(out_of_bounds="clip").fit(leads, right, sample_weight=weights)
    return _knots(fit.predict)


def mean(rows: Sequence[CalibrationAnswer]) -> Curve:
    """Return the mean of both: the shape of the one, without its jumps where answers are few."""
    return tuple(
        (lead, round((one + other) / 2, 3))
        for (lead, one), (_, other) in zip(logistic(rows), isotonic(rows), strict=True)
    )


FITS: dict[str, Fit] = {"logistic": logistic, "isotonic": isotonic, "mean": mean}


def calibrated(rows: Sequence[CalibrationAnswer]) -> list[CalibratedCurve]:
    """Return every kind of curve with what held-out answers say of it, the likeliest first."""
    found: list[CalibratedCurve] = []
    # Where they cost no answer anything, all of them say the same.
    lones = LONES if any(row.setting.signs == 1 for row in rows) else LONES[-1:]
    fars = FARS if reached(rows) else FARS[-1:]
    for name, fit in FITS.items():
        lone = _likeliest({nats: _loss_of(rows, fit, nats, 0.0) for nats in lones})
        far = _likeliest(
            {nats: loss(said_held_out(rows, fit, "world", lone, nats)) for nats in fars}
        )
        pairs = {by: said_held_out(rows, fit, by, lone, far) for by in HELD_OUT}
        losses = {by: loss(said) for by, said in pairs.items()}
        errors = {by: ranked.calibration_error(ranked.binned(said)) for by, said in pairs.items()}
        curve = fit(doubted(rows, ProbabilityCalibration(1.0, 1.0, 1.0, lone=lone)))
        found.append(CalibratedCurve(name, curve, lone, far, losses, errors))
    return sorted(found, key=lambda made: (made.loss, made.name))


def _likeliest(losses: Mapping[float, float]) -> float:
    """Return the nats of least loss, of nearly equal ones the most."""
    least = min(losses.values())
    return max(nats for nats, found in losses.items() if found <= least + 1e-6)


def _loss_of(rows: Sequence[CalibrationAnswer], fit: Fit, lone: float, far: float) -> float:
    return sum(loss(said_held_out(rows, fit, by, lone, far)) for by in HELD_OUT) / len(HELD_OUT)


def said_held_out(
    rows: Sequence[CalibrationAnswer], fit: Fit, by: str, lone: float = 0.0, far: float = 0.0
) -> list[tuple[float, bool]]:
    """Return the probability of each answer and its truth, by a curve fitted without its part."""
    of = HELD_OUT[by]
    names = sorted({of(row) for row in rows}, key=lambda name: (zlib.crc32(name.encode()), name))
    pairs: list[tuple[float, bool]] = []
    for number in range(min(PARTS, len(names))):
        part = set(names[number::PARTS])
        kept = [row for row in rows if of(row) not in part]
        if kept:
            made = ProbabilityCalibration(1.0, 1.0, 1.0, lone=lone, far=far, reach=reached(kept))
            left = doubted([row for row in rows if of(row) in part], made)
            pairs += said(left, fit(doubted(kept, replace(made, far=0.0))))
    return pairs


def doubted(
    rows: Sequence[CalibrationAnswer], made: ProbabilityCalibration
) -> list[CalibrationAnswer]:
    """Return the answers with the leads that remain of theirs."""
    pairs = [(row, made.doubt(row.setting)) for row in rows]
    return [replace(row, lead=row.lead - nats) if nats else row for row, nats in pairs]


def reached(rows: Sequence[CalibrationAnswer]) -> CalibratedReach | None:
    """Return the settings of answers; None where none of them says any."""
    ranks = [row.setting.ranks for row in rows if row.setting.ranks]
    covered = [row.setting.coverage for row in rows if row.setting.coverage]
    if not ranks or not covered:
        return None
    every = [row.setting.interval for row in rows if row.setting.interval] or INTERVALS
    return CalibratedReach(
        (float(min(ranks)), float(max(ranks))),
        (float(min(every)), float(max(every))),
        round(float(np.quantile(covered, LEAST_COVERAGE)), 2),
    )


def said(rows: Sequence[CalibrationAnswer], curve: Curve) -> list[tuple[float, bool]]:
    """Return the probability of each answer by a curve, and whether it is right."""
    return [(calibration.at(curve, row.lead), row.right) for row in rows]


def loss(pairs: Sequence[tuple[float, bool]]) -> float:
    """Return the mean negative log-likelihood of what came true, in nats."""
    chances = np.array([chance if right else 1 - chance for chance, right in pairs])
    return float(-np.log(np.maximum(chances, 1e-6)).mean()) if len(chances) else 0.0


def high(pairs: Sequence[tuple[float, bool]]) -> float:
    """Return the least probability from which on few enough answers are wrong; 1 for none.

    `pairs`: probabilities and whether they came true. Half a wrong answer more is counted, so that
    few right ones in a row are no proof.
    """
    rows = sorted(pairs, reverse=True)
    best, wrong = 1.0, 0.5
    for number, (chance, right) in enumerate(rows, start=1):
        wrong += not right
        last = number == len(rows) or rows[number][0] < chance
        if last and wrong / (number + 1) <= MOST_WRONG:
            best = chance
    return best


def fitted(
    rows: Sequence[CalibrationAnswer],
    made: CalibratedCurve,
    held: ProbabilityCalibration,
    cases: str,
) -> ProbabilityCalibration:
    """Return the calibration with this curve and the probability from which it is sure.

    The highest of those that each way of holding answers out gives, rounded up.
    """
    fit = FITS[made.name]
    sure = max(high(said_held_out(rows, fit, by, made.lone, made.far)) for by in HELD_OUT)
    sure = math.ceil(round(sure * 1000, 6)) / 1000
    return ProbabilityCalibration(
        held.temperature,
        sure,
        held.medium,
        cases,
        made.curve,
        made.lone,
        made.far,
        reached(rows) or held.reach,
    )


def _columns(rows: Sequence[CalibrationAnswer]) -> tuple[Floats, Floats, Floats]:
    """Return leads, right (1) or wrong (0), and weights, the imaginary answers among them."""
    share = _share(rows)
    leads = np.clip([row.lead for row in rows], *LEADS)
    right = np.array([float(row.right) for row in rows])
    ends = np.repeat(LEADS, 2)
    return (
        np.append(leads, ends),
        np.append(right, (1.0, 0.0, 1.0, 0.0)),
        np.append(_weights(rows), DOUBT * np.array([share, 1 - share, share, 1 - share])),
    )


def _share(rows: Sequence[CalibrationAnswer]) -> float:
    return float(_weights(rows) @ [row.right for row in rows]) / len(rows)


def _weights(rows: Sequence[CalibrationAnswer]) -> Floats:
    """Return what each answer weighs, 1 in the mean: every generator as much as any other."""
    held = Counter(row.world for row in rows)
    return np.array([len(rows) / len(held) / held[row.world] for row in rows])


def _knots(predict: Callable[[Floats], Floats]) -> Curve:
    at = np.arange(LEADS[0], LEADS[1] + 0.25, 0.5)
    chances = np.maximum.accumulate(np.clip(predict(at), 0.01, 0.99))
    return tuple(zip(at.tolist(), np.round(chances, 3).tolist(), strict=True))


def _shape(case: TrackedCase) -> str:
    """Return the name of a drawn cluster; other seeds draw others under the same name."""
    return f"{case.case['shape']} {case.step_seconds:.6g}"
