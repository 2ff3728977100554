"""The score of one candidate: every term of it in log-odds, each with what was observed.

score = prior + evidence (capped a family) + scope (affected ranks covered) + time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, Relation
from . import active, evidence
from .catalogue import CatalogueCause, EngineWeights, PredictedFinding
from .evidence import Window
from .index import FindingIndex, strongest
from .view import JobView

Part = Literal[
    "prior", "present", "absent", "missing", "contradicts", "scope", "early", "together", "late"
]
"""Which weight of the catalogue a term comes from."""

PredictionMatch = tuple[PredictedFinding, Sequence[Finding]]
"""A prediction, and what was found of it."""

UNPROVEN = "unproven"
"""Family of the term that keeps a candidate without its essential evidence from being named."""

UNCAPPED = ("prior", "scope", "time", UNPROVEN)
"""Families of terms that are no findings."""

SCOPE_NEEDED = 2.0
"""Nats that an entity loses whose ranks are none of the affected ones; a perfect fit makes up for
it."""


@dataclass(frozen=True, slots=True)
class ScoreTerm:
    """One term before families are capped: the catalogue's weight for `part` times `factor`.

    `prediction` is the row of the catalogue that the weight stands in, None where it is one of the
    engine's own constants.
    """

    part: Part
    factor: float
    row: Evidence
    prediction: PredictedFinding | None = None


def log_odds(share: float) -> float:
    """Return the log-odds (nats) of a share."""
    return math.log(share / (1 - share))


def terms(
    cause: CatalogueCause,
    entity: Entity,
    *,
    prior: float,
    index: FindingIndex,
    symptoms: Sequence[Finding],
    view: JobView,
    weights: EngineWeights,
    proven: bool = True,
) -> list[ScoreTerm] | None:
    """Return every term of a candidate, the prior first; None where something essential is missing.

    `symptoms` are those that the cause explains, at least one. Families are not capped yet. With
    `proven` false what is essential may be missing.
    """
    checked = active.BAD in index and active.proves(cause, entity, index)
    matches = _matches(cause, entity, index, essential=proven and not checked)
    if matches is None:
        return None
    window = (
        min(symptom.onset[0] for symptom in symptoms),
        max(symptom.window[1] for symptom in symptoms),
    )
    rows = [
        ScoreTerm("prior", prior, evidence.of_prior(cause, entity, prior * weights.prior, window))
    ]
    rows += _predictions(cause, entity, matches, view, window, proven=proven)
    rows += _contradictions(cause, entity, index)
    rows += _checks(cause, entity, index, since=window[0])
    rows += _scope(cause, entity, index, window, weights)
    shown = {symptom.kind for symptom in symptoms}
    onsets = [
        (min(match.onset for match in found), prediction.finding in shown)
        for prediction, found in matches
        if found
    ]
    if onsets:
        # That a symptom begins with itself says nothing.
        onset, itself = min(onsets)
        rows.append(_time(entity, onset, symptoms, window, weights, itself=itself))
    return rows


def _matches(
    cause: CatalogueCause, entity: Entity, index: FindingIndex, *, essential: bool
) -> list[PredictionMatch] | None:
    """Return what was found of each prediction; None where something `essential` is missing."""
    matches: list[PredictionMatch] = []
    for prediction in cause.predicts_by_absence:
        related = index.related(prediction, entity)
        if essential and prediction.essential and not related:
            return None
        matches.append((prediction, related))
    if essential and not _present_ways(matches).issuperset(cause.essential_any):
        return None
    return matches


def _present_ways(matches: Sequence[PredictionMatch]) -> set[str]:
    """Return of what can be known in several ways that of which one was found."""
    return {prediction.any for prediction, related in matches if related and prediction.any}


def _predictions(
    cause: CatalogueCause,
    entity: Entity,
    matches: Sequence[PredictionMatch],
    view: JobView,
    window: Window,
    *,
    proven: bool,
) -> list[ScoreTerm]:
    """Return the terms of what a cause predicts: found, not found, and what nobody could find."""
    rows: list[ScoreTerm] = []
    shown_by: dict[tuple[object, ...], int] = {}
    settled = _present_ways(matches)
    for prediction, found in matches:
        if found:
            _add_once(rows, shown_by, _present(prediction, entity, found), strongest(found))
        elif prediction.detail:
            pass
        elif not view.observable(prediction.finding):
            kind = kinds.catalogue()[prediction.finding]
            row = evidence.not_observable(kind, entity, window)
            rows.append(ScoreTerm("missing", 0.0, row, prediction))
        elif not proven and prediction.finding in cause.essential_findings:
            pass  # one term stands for all of it
        elif not prediction.any or prediction.any not in settled:
            settled.add(prediction.any)
            if prediction.absent:
                kind = kinds.catalogue()[prediction.finding]
                row = evidence.not_found(kind, entity, window, prediction.absent)
                rows.append(ScoreTerm("absent", 1.0, row, prediction))
    return rows


def _checks(
    cause: CatalogueCause, entity: Entity, index: FindingIndex, *, since: float
) -> Iterator[ScoreTerm]:
    """Yield the terms of active checks that were asked for."""
    for found, weight in active.against_and_for(cause, entity, index, since=since):
        relation: Relation = "supports" if weight > 0 else "contradicts"
        row = evidence.of_finding(relation, found, weight)
        yield ScoreTerm("present" if weight > 0 else "contradicts", 1.0, row)


def support(cause: CatalogueCause, entity: Entity, index: FindingIndex) -> list[Finding]:
    """Return the findings that a candidate explains: those it predicts, where it predicts them."""
    found = {
        id(match): match
        for prediction in cause.predicts
        for match in index.related(prediction, entity)
    }
    return [*found.values(), *active.used(cause, entity, index)]


def unproven(
    cause: CatalogueCause,
    entity: Entity,
    index: FindingIndex,
    view: JobView,
    weights: EngineWeights,
) -> Evidence | None:
    """Return the term of essential evidence that a candidate lacks, None where it lacks none.

    It weighs less where no source could have shown it. Where one could, it weighs what the
    catalogue says of its absence: a state that a device reports rules a cause out that lacks it,
    what is told from statistics is often too small to be seen.
    """
    found = {
        row.finding for row in cause.predicts if row.finding in index and index.related(row, entity)
    }
    shown = {row.any for row in cause.predicts if row.any and row.finding in found}
    lacking = [
        row
        for row in cause.predicts
        if (row.essential and row.finding not in found)
        or (row.any in cause.essential_any and row.any not in shown)
    ]
    if not lacking:
        return None
    # A line of a log that did not come is one more way to know, and not the source that lacks.
    unseen = [row for row in lacking if not row.says and not view.observable(row.finding)]
    looked_for = [row for row in lacking if row.absent and row not in unseen]
    if looked_for:
        decisive = min(looked_for, key=lambda row: row.absent)
        weight = min(max(decisive.absent, weights.ruled_out), weights.unseen)
    else:
        decisive = (unseen or lacking)[0]
        weight = weights.unseen if unseen else weights.unproven
    kind = kinds.catalogue()[decisive.finding]
    window = (index.symptoms[0].onset[0], index.symptoms[0].window[1])
    row = replace(evidence.not_found(kind, entity, window, weight), family=UNPROVEN)
    if unseen and not looked_for:
        text = f"no source reports {kind.sources()}, without which it is not named"
        row = replace(row, text=text)
    return row


def _present(prediction: PredictedFinding, entity: Entity, matches: Sequence[Finding]) -> ScoreTerm:
    """Return the term of what was found: more where it stands out, and where most ranks show it."""
    best = strongest(matches)
    factor = min(1.0, 0.55 + 0.15 * best.score)
    if prediction.at == "ranks" and len(entity.ranks) > 1:
        shown = len({match.entity for match in matches})
        factor *= min(1.0, 0.5 + shown / len(entity.ranks))
    row = evidence.of_finding("supports", best, prediction.present * factor)
    return ScoreTerm("present", factor, row, prediction)


def _add_once(
    rows: list[ScoreTerm], shown_by: dict[tuple[object, ...], int], term: ScoreTerm, best: Finding
) -> None:
    """Add a term; of those that one reading of one entity brought about the largest counts.

    One fault code is a fault event and what the code says: that is one piece of evidence.
    """
    reading = (best.signal, best.entity.type, best.entity.id, best.onset, best.observed)
    held = shown_by.get(reading)
    if held is None or rows[held].prediction is term.prediction:
        shown_by[reading] = len(rows)
    elif rows[held].row.weight >= term.row.weight:
        term = _counted(term)
    else:
        rows[held] = _counted(rows[held])
        shown_by[reading] = len(rows)
    rows.append(term)


def _counted(term: ScoreTerm) -> ScoreTerm:
    """Return a term that weighs nothing: the same reading counts in another one."""
    row = replace(term.row, weight=0.0, text=f"{term.row.text} (the same reading)")
    return replace(term, factor=0.0, row=row)


def _contradictions(cause: CatalogueCause, entity: Entity, index: FindingIndex) -> list[ScoreTerm]:
    predicted = cause.predicted_findings
    rows: list[ScoreTerm] = []
    for prediction in cause.contradicts:
        if prediction.finding not in index:
            continue
        matches = [
            match
            for match in index.related(prediction, entity)
            if prediction.says or not (match.entity == entity and match.kind in predicted)
        ]
        if matches:
            row = evidence.of_finding("contradicts", strongest(matches), prediction.present)
            rows.append(ScoreTerm("contradicts", 1.0, row, prediction))
    return rows


def capped(terms: Sequence[ScoreTerm], cap: float) -> list[Evidence]:
    """Return the rows of terms; those of one family of findings together stay within the cap."""
    rows = [term.row for term in terms]
    total: dict[str, float] = {}
    for row in rows:
        if row.family not in UNCAPPED:
            total[row.family] = total.get(row.family, 0.0) + row.weight
    return [
        replace(row, weight=row.weight * cap / abs(total[row.family]))
        if abs(total.get(row.family, 0.0)) > cap
        else row
        for row in rows
    ]


def _scope(
    cause: CatalogueCause,
    entity: Entity,
    index: FindingIndex,
    window: Window,
    weights: EngineWeights,
) -> list[ScoreTerm]:
    """Return the scope term: high where the entity has the affected ranks, and only those."""
    kind = next((kind for kind in cause.covers if kind in index), None)
    if kind is None or not entity.ranks:
        return []
    affected = index.affected(kind)
    if len(entity.ranks) > len(affected):
        inside = sum(rank in entity.ranks for rank in affected)
    else:
        inside = sum(rank in affected for rank in entity.ranks)
    # Storage of the network is everybody's: now this rank waits for it, now that one.
    of_all = entity.type == "storage" and entity.host is None
    score = inside / len(affected) if of_all else 2 * inside / (len(affected) + len(entity.ranks))
    weight = weights.cover * score - SCOPE_NEEDED
    row = Evidence(
        relation="supports" if weight > 0 else "contradicts",
        family="scope",
        entity=entity,
        signal=kind,
        window=window,
        observed=float(inside),
        expected=float(len(affected)),
        weight=weight,
        text=(
            f"covers {inside} of {len(affected)} affected ranks and "
            f"{len(entity.ranks) - inside} unaffected ranks"
        ),
    )
    return [ScoreTerm("scope", score, row)]


def _time(
    entity: Entity,
    onset: Window,
    symptoms: Sequence[Finding],
    window: Window,
    weights: EngineWeights,
    *,
    itself: bool,
) -> ScoreTerm:
    """Return the term of the order in time: most where both began together.

    What was long there explains a sudden change badly; by chance hardly anything begins with it.
    """
    start = min(symptom.onset for symptom in symptoms)
    late = onset[0] - start[1]
    close = weights.together_seconds
    part: Part
    if late > weights.late_seconds:
        part, weight = "late", weights.late
        text = f"first evidence begins {late:.0f} s after the symptom"
    elif not itself and -close <= onset[1] - start[0] and onset[1] - onset[0] <= 4 * close:
        part, weight = "together", weights.together
        text = "first evidence begins together with the symptom"
    else:
        part, weight = "early", weights.early
        text = "first evidence begins with the symptom or before it"
    row = Evidence(
        relation="contradicts" if weight < 0 else "supports",
        family="time",
        entity=entity,
        signal="onset",
        window=window,
        observed=late,
        expected=0.0,
        weight=weight,
        text=text,
    )
    return ScoreTerm(part, 1.0, row)
