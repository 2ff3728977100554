"""Ranks whose processes did not answer RAS."""

from .....formats.nccl.ras import RankPlace
from .....vocabulary.samples import Sample, TelemetryResource, attributes
from ...found import ArtefactContents
from .dated_answers import DatedAnswer
from .job_answers import JobAnswers
from .reports import report

MISSING = "nccl.ras_missing"


def add(
    job: JobAnswers,
    dated: DatedAnswer,
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> set[int] | None:
    """Add an event for each process that did not answer, and say which are of no known rank.

    Returns these ranks, None where there are others that nothing names.
    """
    answer = dated.answer
    gave_up = {(one.host, one.pid) for one in answer.dead}
    ranks: dict[int, RankPlace | None] = {}
    unplaced: list[RankPlace] = [*answer.missing, *answer.dead]
    unnamed = not unplaced and not any(made.missing for made in answer.communicators)
    for made in answer.communicators:
        for number in made.missing:
            place = made.places.get(number)
            rank = job.rank(number, made, answer.nodes)
            if place is not None and number in made.dead:
                gave_up.add((place.host, place.pid))
            if rank is not None:
                ranks[rank] = ranks.get(rank) or place
            elif place is not None:
                unplaced.append(place)
    told = {(place.host, place.pid) for place in ranks.values() if place is not None}
    lone = [rank for rank, place in ranks.items() if place is None]
    for place in unplaced:
        if (place.host, place.pid) in told:
            continue
        told.add((place.host, place.pid))
        rank = job.of_process(place, answer.nodes)
        if rank is None and len(lone) == 1:
            rank = lone.pop()  # the text of NCCL 2.24 names the process here and the rank there
        if rank is None:
            unnamed = True
            silent = f"process {place.pid} on {place.host}"
            lacks = f"which rank {silent} is: it did not answer NCCL's RAS service"
            if lacks not in found.missing:
                found.missing.append(lacks)
            if dated is job.answers[-1] and at == dated.at:
                # A cascade: it tells that the job waits, and not for which rank.
                text = f"{silent} did not answer NCCL's RAS service"
                report(MISSING, "cascade", None, text, dated, at, resource, found)
        else:
            ranks[rank] = place
    for rank, place in sorted(ranks.items()):
        where = f" (process {place.pid} on {place.host})" if place else ""
        dead = place is not None and (place.host, place.pid) in gave_up
        text = f"rank {rank}{where} did not answer NCCL's RAS service" + (
            ", which considers it dead" if dead else ""
        )
        known = attributes(job.labels(rank, place))
        own = job.resource(rank, place, resource)
        new = rank not in job.known
        if new:
            # That it is one of the job's is all that is known of it.
            job.known.add(rank)
            found.samples.append((own, Sample("training.rank.info", 1.0, at - 1.0, known)))
        if new or (at == dated.at and len(job.answers) > 1):
            report(MISSING, "root", rank, text, dated, at, own, found)
    return None if unnamed else set(ranks)
