"""Root causes by log-odds: every candidate fault at every touched place, every term shown.

score = prior + evidence (capped a family) + place + time. `unknown` competes with its own prior
and the evidence that a named cause must bring, and gains where sources are missing. The same
findings and places give the same answer, to the byte.

Method: facts on root causes 5.2; the weights stand in catalogue.toml.
"""

import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...vocabulary import faults
from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ids import Fault
from ...vocabulary.incidents import (
    Action,
    Confidence,
    Evidence,
    Hypothesis,
    NextCheck,
    RootCause,
)
from .catalogue import Catalogue, Cause, Prediction, catalogue
from .places import Places

ENGINE = "log-odds-1"
MOST_HYPOTHESES = 5

_BLANK = re.compile(r"\{(host|rank|pid|id)\}")


def explain(
    findings: Sequence[Finding],
    places: Places,
    *,
    knowledge: Catalogue | None = None,
) -> RootCause:
    """Return the ranked causes of what was found, provisional.

    `findings` holds at least one symptom; the others are evidence.
    """
    knowledge = knowledge or catalogue()
    symptoms = [f for f in findings if kinds.catalogue()[f.kind].symptom]
    shown = {symptom.kind for symptom in symptoms}
    causes = [cause for cause in knowledge.causes if shown & set(cause.symptoms)]
    total = sum(cause.share for cause in causes) / (1 - knowledge.weights.unknown_share)
    rows: list[Hypothesis] = []
    unseen: set[str] = set()
    for cause in causes:
        prior = _log_odds(cause.share / total)
        for entity in _candidates(cause, findings, places):
            evidence = _evidence(cause, entity, prior, findings, symptoms, places, knowledge)
            if evidence is not None:
                rows.append(_hypothesis(cause, entity, evidence, places))
    for cause in causes:
        unseen |= {p.finding for p in cause.predicts if not places.observable(p.finding)}
    rows.sort(key=lambda row: (-round(row.score, 6), row.fault, row.entity))
    unknown = _unknown(causes, rows, symptoms, unseen, places, knowledge)
    if not rows or unknown.score >= rows[0].score:
        rows.insert(0, unknown)
    rows = _ranked(rows[:MOST_HYPOTHESES], unknown.score)
    known = [p.finding for cause in causes for p in cause.predicts]
    return RootCause(
        status="provisional",
        engine=ENGINE,
        catalogue=knowledge.version,
        hypotheses=tuple(rows),
        unknown_score=unknown.score,
        unknown_reasons=tuple(row.text for row in unknown.evidence if row.family != "prior"),
        next_checks=_checks(rows, causes, places),
        missing=tuple(sorted({kinds.catalogue()[kind].signals[0] for kind in unseen})),
        clock_skew_seconds=places.clock_skew,
        coverage=1 - len(unseen) / len(set(known)) if known else 0.0,
    )


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))


def _candidates(cause: Cause, findings: Sequence[Finding], places: Places) -> list[Entity]:
    """Return the places that the cause's predicted findings touch, of the types it may point at."""
    predicted = {prediction.finding: prediction for prediction in cause.predicts}
    essential = {p.finding for p in cause.predicts if p.essential}
    touched: set[Entity] = set()
    for finding in findings:
        if finding.kind in (essential or predicted):
            for kind in faults.catalogue()[cause.fault].entities:
                touched |= set(_as(kind, finding.entity, places))
    return sorted(touched)


def _as(kind: str, entity: Entity, places: Places) -> list[Entity]:
    """Return what an entity means as another type: a rank's host, a host's ranks, the job."""
    if kind == entity.type:
        return [places.hosts.get(entity.id, entity)] if kind == "host" else [entity]
    if kind == "job":
        return [places.job]
    if kind == "host":
        host = places.host_of(entity)
        return [places.hosts[host]] if host is not None and host in places.hosts else []
    if kind == "rank" and entity.type in ("gpu", "process"):
        return [places.rank_entity(rank) for rank in entity.ranks]
    if kind == "gpu" and entity.type in ("rank", "process"):
        return [places.devices[rank] for rank in entity.ranks if rank in places.devices]
    return []


def _evidence(
    cause: Cause,
    entity: Entity,
    prior: float,
    findings: Sequence[Finding],
    symptoms: Sequence[Finding],
    places: Places,
    knowledge: Catalogue,
) -> list[Evidence] | None:
    """Return every term of a candidate's score; None when something essential is not there."""
    begin = min(symptom.onset[0] for symptom in symptoms)
    end = max(symptom.window[1] for symptom in symptoms)
    rows = [
        Evidence(
            relation="supports" if prior > 0 else "contradicts",
            family="prior",
            entity=entity,
            signal="catalogue",
            window=(begin, end),
            observed=cause.share,
            expected=None,
            weight=prior,
            text=f"prior: {cause.share:.1%} of published incidents",
        )
    ]
    found_any = {p.any for p in cause.predicts if p.any and _related(p, entity, findings, places)}
    charged: set[str] = set()
    onsets: list[float] = []
    for prediction in sorted(cause.predicts, key=lambda p: p.absent):
        matches = _related(prediction, entity, findings, places)
        if matches:
            strongest = _strongest(matches)
            weight = prediction.present * min(1.0, 0.55 + 0.15 * strongest.score)
            if prediction.at == "ranks" and len(entity.ranks) > 1:
                weight *= min(1.0, 0.5 + len({m.entity for m in matches}) / len(entity.ranks))
            rows.append(_row("supports", strongest, weight))
            onsets.append(min(match.onset[0] for match in matches))
        elif prediction.essential:
            return None
        elif not places.observable(prediction.finding):
            rows.append(_absent("missing", prediction, entity, (begin, end), 0.0))
        elif prediction.any in found_any and prediction.any:
            continue
        elif prediction.any not in charged or not prediction.any:
            charged.add(prediction.any)
            if prediction.absent:
                rows.append(
                    _absent("contradicts", prediction, entity, (begin, end), prediction.absent)
                )
    for prediction in cause.contradicts:
        matches = [
            match
            for match in _related(prediction, entity, findings, places)
            if not _same_place(match, entity, cause)
        ]
        if matches:
            strongest = _strongest(matches)
            rows.append(_row("contradicts", strongest, prediction.present))
    rows = _capped(rows, knowledge.weights.family_cap)
    rows += _cover(cause, entity, findings, (begin, end), knowledge)
    if onsets:
        rows.append(_time(entity, min(onsets), symptoms, (begin, end), knowledge))
    return rows


def _strongest(matches: Sequence[Finding]) -> Finding:
    """Return the one that stands out most; of equals always the same, whatever their order."""
    return max(matches, key=lambda match: (match.score, match.entity, match.window, match.text))


def _same_place(match: Finding, entity: Entity, cause: Cause) -> bool:
    """Tell whether a contradicting finding is the candidate's own predicted one."""
    return match.entity == entity and match.kind in {p.finding for p in cause.predicts}


def _related(
    prediction: Prediction, entity: Entity, findings: Sequence[Finding], places: Places
) -> list[Finding]:
    """Return the findings of the predicted kind that stand where the prediction says."""
    related = []
    for finding in findings:
        if finding.kind != prediction.finding:
            continue
        there = finding.entity
        if prediction.at == "job":
            hit = True
        elif prediction.at == "host":
            host = places.host_of(entity)
            hit = host is not None and places.host_of(there) == host
        elif prediction.at == "ranks":
            hit = bool(set(there.ranks) & set(entity.ranks)) or there == entity
        else:
            same = there.type == entity.type and there.id == entity.id
            hit = same or (there.type == "job" and entity.type == "job")
        if hit:
            related.append(finding)
    return related


def _row(relation: str, finding: Finding, weight: float) -> Evidence:
    return Evidence(
        relation="supports" if relation == "supports" else "contradicts",
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
    relation: str,
    prediction: Prediction,
    entity: Entity,
    window: tuple[float, float],
    weight: float,
) -> Evidence:
    kind = kinds.catalogue()[prediction.finding]
    words = "nobody reports" if relation == "missing" else "expected and not seen:"
    subject = " or ".join(kind.signals) if relation == "missing" else kind.help
    return Evidence(
        relation="missing" if relation == "missing" else "contradicts",
        family=kind.family,
        entity=entity,
        signal=kind.signals[0],
        window=window,
        observed=None,
        expected=None,
        weight=weight,
        text=f"{words} {subject[0].lower()}{subject[1:]}",
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


def _cover(
    cause: Cause,
    entity: Entity,
    findings: Sequence[Finding],
    window: tuple[float, float],
    knowledge: Catalogue,
) -> list[Evidence]:
    """Return the place term: it is high when the affected ranks, and only those, are there."""
    kinds_present = [k for k in cause.covers if any(f.kind == k for f in findings)]
    if not kinds_present or not entity.ranks:
        return []
    affected = {rank for f in findings if f.kind == kinds_present[0] for rank in f.entity.ranks}
    inside = len(affected & set(entity.ranks))
    score = 2 * inside / (len(affected) + len(entity.ranks))
    weight = max(knowledge.weights.cover * score - 2.0, -2.0)
    return [
        Evidence(
            relation="supports" if weight > 0 else "contradicts",
            family="place",
            entity=entity,
            signal=kinds_present[0],
            window=window,
            observed=float(inside),
            expected=float(len(affected)),
            weight=weight,
            text=(
                f"{inside} of the {len(affected)} affected ranks are here, and "
                f"{len(entity.ranks) - inside} healthy ones"
            ),
        )
    ]


def _time(
    entity: Entity,
    onset: float,
    symptoms: Sequence[Finding],
    window: tuple[float, float],
    knowledge: Catalogue,
) -> Evidence:
    begin = min(symptom.onset[1] for symptom in symptoms)
    late = onset - begin
    is_late = late > knowledge.weights.late_seconds
    return Evidence(
        relation="contradicts" if is_late else "supports",
        family="time",
        entity=entity,
        signal="onset",
        window=window,
        observed=late,
        expected=0.0,
        weight=knowledge.weights.late if is_late else knowledge.weights.early,
        text=(
            f"the first sign appears {late:.0f} s after the symptom"
            if is_late
            else "the first sign is there when the symptom begins"
        ),
    )


def _hypothesis(
    cause: Cause, entity: Entity, evidence: list[Evidence], places: Places
) -> Hypothesis:
    ordered = [*evidence[:1], *sorted(evidence[1:], key=lambda row: -abs(row.weight))]
    return Hypothesis(
        rank=1,
        fault=cause.fault,
        entity=entity,
        score=sum(row.weight for row in evidence),
        probability=None,
        confidence="low",
        evidence=(*ordered[1:], ordered[0]),
        actions=tuple(
            Action(
                advice.when,
                _filled(advice.text, entity, places),
                _filled(advice.command, entity, places, quote=_quoted),
            )
            for advice in cause.actions
        ),
        runbook=cause.runbook,
    )


def _unknown(
    causes: Sequence[Cause],
    rows: Sequence[Hypothesis],
    symptoms: Sequence[Finding],
    unseen: set[str],
    places: Places,
    knowledge: Catalogue,
) -> Hypothesis:
    """Return the hypothesis that none of the named causes is the one."""
    weights = knowledge.weights
    entity = places.job
    window = (
        min(symptom.onset[0] for symptom in symptoms),
        max(symptom.window[1] for symptom in symptoms),
    )
    prior = _log_odds(weights.unknown_share) if causes else 0.0
    # Only what the best candidates could not show makes them less sure; a silent vendor exporter
    # says nothing about a NaN.
    missing = (
        len({row.signal for row in rows[0].evidence if row.relation == "missing"})
        if rows
        else len(unseen)
    )
    terms = [
        ("prior", prior, "prior: causes that the catalogue does not hold"),
        ("needed", weights.needed, "a named cause must bring this much evidence of its own"),
    ]
    if missing:
        terms.append(
            ("missing", weights.missing * missing, f"{missing} kinds of evidence are not reported")
        )
    evidence = tuple(
        Evidence("supports" if weight > 0 else "contradicts", family, entity, "catalogue", window,
                 None, None, weight, text)
        for family, weight, text in terms
    )  # fmt: skip
    return Hypothesis(
        rank=1,
        fault=faults.UNKNOWN,
        entity=entity,
        score=sum(row.weight for row in evidence),
        probability=None,
        confidence="low",
        evidence=evidence,
        actions=(
            Action(
                "investigate",
                "Look at the ranked hypotheses and run the next checks; no cause is named yet",
                "",
            ),
        ),
        runbook="docs/runbooks/unknown.md",
    )


def _ranked(rows: Sequence[Hypothesis], unknown: float) -> list[Hypothesis]:
    """Return the hypotheses numbered, each as sure as its lead over the best other answer."""
    ranked = []
    for number, row in enumerate(rows, start=1):
        others = [other.score for other in rows if other is not row]
        if row.fault != faults.UNKNOWN:
            others.append(unknown)
        lead = row.score - max(others, default=row.score)
        confidence: Confidence = "high" if lead >= 3 else "medium" if lead >= 1.2 else "low"
        ranked.append(replace(row, rank=number, confidence=confidence))
    return ranked


def _checks(
    rows: Sequence[Hypothesis], causes: Sequence[Cause], places: Places
) -> tuple[NextCheck, ...]:
    """Return the checks of the two leading causes, those that tell the two apart first."""
    by_fault = {cause.fault: cause for cause in causes}
    leading = [row for row in rows if row.fault in by_fault][:2]
    rivals: set[Fault] = {row.fault for row in leading}
    checks: list[NextCheck] = []
    for row in leading:
        checks += [
            NextCheck(
                _filled(advice.text, row.entity, places),
                _filled(advice.command, row.entity, places, quote=_quoted),
                (row.fault, *advice.separates),
            )
            for advice in by_fault[row.fault].checks
        ]
    checks.sort(key=lambda check: not rivals <= set(check.separates))
    return tuple(checks)


def _quoted(name: str) -> str:
    """Return a name for a shell; nothing where a program would take the name for an option."""
    return shlex.quote(name) if name and not name.startswith("-") else ""


def _filled(text: str, entity: Entity, places: Places, *, quote: Callable[[str], str] = str) -> str:
    """Fill in {host} {rank} {pid} {id}; what is not known stays as the word in angle brackets.

    Names come from telemetry, so in commands they are quoted for the shell that they are pasted in,
    and those that would be options (`ssh -oProxyCommand=...`) are left to the reader.
    """
    rank = entity.ranks[0] if entity.ranks else None
    pid = places.pids.get(rank) if rank is not None else None
    values = {
        "host": quote(places.host_of(entity) or "") or "<host>",
        "rank": "<rank>" if rank is None else str(rank),
        "pid": "<pid>" if pid is None else str(pid),
        "id": quote(entity.id) or "<id>",
    }
    return _BLANK.sub(lambda blank: values[blank[1]], text)
