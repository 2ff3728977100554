"""The hypothesis that none of the named causes is the one; it names the ranks that stand out."""

from collections.abc import Sequence

from ...vocabulary import entities, faults
from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, Hypothesis, RecommendedAction
from ...vocabulary.ranks import RankSet
from ...vocabulary.topology import JobTopology
from .catalogue import EngineWeights
from .index import FindingIndex, strongest
from .scoring import log_odds

CATALOGUE = "catalogue"
"""Signal of the terms that no telemetry stands behind."""

MOST_SIGNS = 3
"""Findings about the ranks that stand out which are shown beside the terms."""

FEW = 8
"""So many ranks stand out at most; more are no answer to where to look."""

TYPES = ("rank", "gpu", "process")
"""Entities whose findings are about single ranks."""

SEVERAL = 0.5
"""Ranks stand out whose findings score at least this share of the highest score."""


def unknown(
    index: FindingIndex,
    symptoms: Sequence[Finding],
    *,
    missing: int,
    causes: int,
    topology: JobTopology,
    weights: EngineWeights,
) -> Hypothesis:
    """Return the unknown hypothesis.

    `missing`: kinds of evidence that the best candidate predicts and that no source reports;
    `causes`: how many causes of the catalogue explain the symptoms.
    """
    ranks = standing_out(index, symptoms)
    entity = _entity(ranks, symptoms, topology)
    window = (
        min(symptom.onset[0] for symptom in symptoms),
        max(symptom.window[1] for symptom in symptoms),
    )
    terms: list[tuple[str, float, str]] = []
    if causes:
        prior = log_odds(weights.unknown_share)
        terms.append(("prior", prior, "prior: causes that the catalogue does not hold"))
    needed = f"a named cause needs {weights.needed:g} nats of evidence"
    terms.append(("needed", weights.needed, needed))
    if missing:
        text = f"no source reports {missing} of the signals that separate causes"
        terms.append(("missing", weights.missing * missing, text))
    if topology.world_size == 1:
        terms.append(("peers", 0.0, _alone(symptoms)))
    reasons = tuple(
        Evidence("supports" if weight > 0 else "contradicts", family, entity, CATALOGUE, window,
                 None, None, weight, text)
        for family, weight, text in terms
    )  # fmt: skip
    return Hypothesis(
        rank=1,
        fault=faults.UNKNOWN,
        entity=entity,
        score=sum(weight for _, weight, _ in terms),
        probability=None,
        confidence="low",
        evidence=(*reasons, *_signs(index, ranks)),
        actions=(RecommendedAction("investigate", _advice(ranks, topology), ""),),
        runbook="docs/runbooks/unknown.md",
    )


def _alone(symptoms: Sequence[Finding]) -> str:
    """Return what one rank cannot show: most causes are told apart by comparing ranks."""
    if any(symptom.kind == "job.nonfinite" for symptom in symptoms):
        return (
            "a job of one rank has no peers: a bad batch, an overflow of its precision and a "
            "faulty device look alike there; replay the step from the checkpoint"
        )
    return "a job of one rank has no peers to compare it with"


def standing_out(index: FindingIndex, symptoms: Sequence[Finding]) -> RankSet:
    """Return the few ranks that stand out: as the symptoms name them, else as the evidence does."""
    named = RankSet(rank for symptom in symptoms for rank in symptom.ranks)
    if named:
        return named if len(named) <= FEW else RankSet()
    score: dict[int, float] = {}
    for finding in index.findings:
        if finding.entity.type in TYPES:
            for rank in finding.entity.ranks:
                score[rank] = max(score.get(rank, 0.0), finding.score)
    least = SEVERAL * max(score.values(), default=0.0)
    chosen = [rank for rank, found in score.items() if found >= least]
    return RankSet(chosen) if len(chosen) <= FEW else RankSet()


def _signs(index: FindingIndex, ranks: RankSet) -> list[Evidence]:
    """Return what was found about the ranks that stand out, strongest first; it weighs nothing.

    Where none stand out, what was found about the job: that collectives are slower says where to
    look even if no counter says why.
    """
    best: dict[str, Finding] = {}
    for finding in index.findings:
        kind, entity = kinds.catalogue()[finding.kind], finding.entity
        about_ranks = entity.type in TYPES and any(rank in ranks for rank in entity.ranks)
        about_job = entity.type == "job" and not ranks and not kind.symptom
        if about_ranks or about_job:
            first = best.get(kind.family)
            best[kind.family] = strongest([finding, *([first] if first else [])])
    rows = sorted(best.items(), key=lambda item: (-item[1].score, item[0]))
    return [
        Evidence("supports", family, found.entity, found.signal, found.window, found.observed,
                 found.expected, 0.0, found.text)
        for family, found in rows[:MOST_SIGNS]
    ]  # fmt: skip


def _entity(ranks: RankSet, symptoms: Sequence[Finding], topology: JobTopology) -> Entity:
    """Return the rank that stands out, or the host that all symptoms are about; else the job."""
    if len(ranks) == 1:
        return topology.rank_entity(ranks[0])
    about = {symptom.entity for symptom in symptoms}
    if not ranks and len(about) == 1 and (only := next(iter(about))).type == "host":
        return only
    return topology.job_entity if not ranks else entities.job(topology.job, ranks)


def _advice(ranks: RankSet, topology: JobTopology) -> str:
    if not ranks:
        return "Run the next checks of the hypotheses below; no cause is named"
    hosts = sorted({host for rank in ranks if (host := topology.host(rank))})
    word = "rank" if len(ranks) == 1 else "ranks"
    where = f" on {', '.join(hosts)}" if hosts else ""
    return f"Look at {word} {ranks}{where} first; no cause is named"
