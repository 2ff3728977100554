"""The score of one candidate: every term of it in log-odds, each with what was observed.

score = prior + evidence (capped a family) + scope (affected ranks covered) + time.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, Relation
from .catalogue import Cause, Prediction, Weights
from .index import FindingIndex, strongest
from .view import JobView

Window = tuple[float, float]


def log_odds(share: float) -> float:
    """Return the log-odds (nats) of a share."""
    return math.log(share / (1 - share))


def terms(
    cause: Cause,
    entity: Entity,
    *,
    prior: float,
    index: FindingIndex,
    symptoms: Sequence[Finding],
    view: JobView,
    weights: Weights,
) -> list[Evidence] | None:
    """Return every term of a candidate, the prior first; None where something essential is missing.

    `symptoms` are those that the cause explains, at least one.
    """
    window = (
        min(symptom.onset[0] for symptom in symptoms),
        max(symptom.window[1] for symptom in symptoms),
    )
    matches = [(prediction, index.related(prediction, entity)) for prediction in cause.predicts]
    present = {prediction.any for prediction, found in matches if prediction.any and found}
    if any(prediction.essential and not found for prediction, found in matches):
        return None
    if not present.issuperset(cause.essential_any):
        return None
    rows = [_prior(cause, entity, prior, window)]
    charged: set[str] = set()
    shown = {symptom.kind for symptom in symptoms}
    onsets: list[tuple[Window, bool]] = []
    for prediction, found in sorted(matches, key=lambda match: match[0].absent):
        if found:
            rows.append(_present(prediction, entity, found))
            onsets.append((min(match.onset for match in found), prediction.finding in shown))
        elif not view.observable(prediction.finding):
            rows.append(_absent("missing", prediction, entity, window, 0.0))
        elif not prediction.any or prediction.any not in present | charged:
            charged.add(prediction.any)
            if prediction.absent:
                rows.append(_absent("contradicts", prediction, entity, window, prediction.absent))
    rows += _contradictions(cause, entity, index)
    rows = _capped(rows, weights.family_cap)
    rows += _scope(cause, entity, index, window, weights)
    if onsets:
        # That a symptom begins with itself says nothing.
        onset, itself = min(onsets)
        rows.append(_time(entity, onset, symptoms, window, weights, itself=itself))
    return rows


def support(cause: Cause, entity: Entity, index: FindingIndex) -> list[Finding]:
    """Return the findings that a candidate explains: those it predicts, where it predicts them."""
    found = {
        id(match): match
        for prediction in cause.predicts
        for match in index.related(prediction, entity)
    }
    return list(found.values())


def _prior(cause: Cause, entity: Entity, prior: float, window: Window) -> Evidence:
    return Evidence(
        relation="supports" if prior > 0 else "contradicts",
        family="prior",
        entity=entity,
        signal="catalogue",
        window=window,
        observed=cause.learnt.value if cause.learnt else cause.share,
        expected=None,
        weight=prior,
        text=f"prior: {cause.learnt.text if cause.learnt else f'{cause.share:.1%} of incidents'}",
    )


def _present(prediction: Prediction, entity: Entity, matches: Sequence[Finding]) -> Evidence:
    """Return the term of what was found: more where it stands out, and where most ranks show it."""
    best = strongest(matches)
    weight = prediction.present * min(1.0, 0.55 + 0.15 * best.score)
    if prediction.at == "ranks" and len(entity.ranks) > 1:
        shown = len({match.entity for match in matches})
        weight *= min(1.0, 0.5 + shown / len(entity.ranks))
    return _row("supports", best, weight)


def _contradictions(cause: Cause, entity: Entity, index: FindingIndex) -> list[Evidence]:
    predicted = {prediction.finding for prediction in cause.predicts}
    rows: list[Evidence] = []
    for prediction in cause.contradicts:
        matches = [
            match
            for match in index.related(prediction, entity)
            if not (match.entity == entity and match.kind in predicted)
        ]
        if matches:
            rows.append(_row("contradicts", strongest(matches), prediction.present))
    return rows


def _row(relation: Relation, finding: Finding, weight: float) -> Evidence:
    return Evidence(
        relation=relation,
        family=kinds.catalogue()[finding.kind].family,
        entity=finding.entity,
        signal=finding.signal,
        window=finding.window,
        observed=finding.observed,
        expected=finding.expected,
        weight=weight,
        text=finding.text,
    )


def _absent(
    relation: Relation, prediction: Prediction, entity: Entity, window: Window, weight: float
) -> Evidence:
    kind = kinds.catalogue()[prediction.finding]
    if relation == "missing":
        text = f"not observable: no source reports {' or '.join(kind.signals)}"
    else:
        text = f"expected, not found: {kind.help[0].lower()}{kind.help[1:]}"
    return Evidence(
        relation=relation,
        family=kind.family,
        entity=entity,
        signal=kind.signals[0],
        window=window,
        observed=None,
        expected=None,
        weight=weight,
        text=text,
    )


def _capped(rows: list[Evidence], cap: float) -> list[Evidence]:
    """Scale the terms of each family so that together they stay within the cap."""
    total: dict[str, float] = {}
    for row in rows:
        if row.family != "prior":
            total[row.family] = total.get(row.family, 0.0) + row.weight
    return [
        replace(row, weight=row.weight * cap / abs(total[row.family]))
        if abs(total.get(row.family, 0.0)) > cap
        else row
        for row in rows
    ]


def _scope(
    cause: Cause, entity: Entity, index: FindingIndex, window: Window, weights: Weights
) -> list[Evidence]:
    """Return the scope term: high where the entity has the affected ranks, and only those."""
    kind = next((kind for kind in cause.covers if kind in index), None)
    if kind is None or not entity.ranks:
        return []
    affected = index.affected(kind)
    if len(entity.ranks) > len(affected):
        inside = sum(rank in entity.ranks for rank in affected)
    else:
        inside = sum(rank in affected for rank in entity.ranks)
    score = 2 * inside / (len(affected) + len(entity.ranks))
    weight = max(weights.cover * score - 2.0, -2.0)
    return [
        Evidence(
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
    ]


def _time(
    entity: Entity,
    onset: Window,
    symptoms: Sequence[Finding],
    window: Window,
    weights: Weights,
    *,
    itself: bool,
) -> Evidence:
    """Return the term of the order in time: most where both began together.

    What was long there explains a sudden change badly; by chance hardly anything begins with it.
    """
    start = min(symptom.onset for symptom in symptoms)
    late = onset[0] - start[1]
    close = weights.together_seconds
    if late > weights.late_seconds:
        weight, text = weights.late, f"first evidence begins {late:.0f} s after the symptom"
    elif not itself and -close <= onset[1] - start[0] and onset[1] - onset[0] <= 4 * close:
        weight, text = weights.together, "first evidence begins together with the symptom"
    else:
        weight, text = weights.early, "first evidence begins with the symptom or before it"
    return Evidence(
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
