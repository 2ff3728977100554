"""Answers of NCCL's RAS as telemetry: in files of their own, or somewhere inside a job's log.

Counts of a job at work differ for a moment. What moves between two answers stands for a job at
work; of one answer alone a difference of one collective says nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path

from .....formats.nccl.ras import RasCommunicator
from .....vocabulary.groups import communicator_group, communicator_info, world
from .....vocabulary.samples import Sample, Scalar, TelemetryResource, attributes
from ...found import ArtefactContents
from . import absent_ranks, dated_answers, odd_ranks, unequal
from .dated_answers import DatedAnswer
from .job_answers import JobAnswers, moments, standing
from .reports import report
from .words import described

_MOST_RANKS = 65_536


def read(
    alone: Mapping[str, Path],
    logs: Mapping[str, Path],
    *,
    zone: tzinfo | None,
    hosts: Mapping[int, str],
    pids: Mapping[int, int],
    stepped: float | None,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> list[DatedAnswer]:
    """Add what all answers say: those of files that begin with one, and those inside `logs`.

    Returns them in order of time. `hosts` and `pids` are those of ranks as far as logs tell them;
    `stepped` is when the last step that logs tell had ended, s since the epoch.
    """
    dated = dated_answers.alone(alone, zone, found.unread)
    for name, path in logs.items():
        dated += dated_answers.inside(name, path, zone)
    dated = sorted((one.stood_since(stepped) for one in dated), key=lambda one: one.at)
    for name in dict.fromkeys(one.file for one in dated):
        found.read[name] = described([one.answer for one in dated if one.file == name])
        found.unread.pop(name, None)
    if dated:
        _add(JobAnswers(dated, hosts, pids), resource, found)
    return dated


def nodes_of(
    answers: Sequence[DatedAnswer], seen: Mapping[str, Collection[int]]
) -> dict[str, frozenset[int]]:
    """Return by log the ranks of the one node whose lines it holds, as an answer in it tells them.

    `seen` are the ranks whose lines are in each log. Launchers number ranks node by node, and a log
    that holds lines of several ranks of one node holds those of all.
    """
    found: dict[str, frozenset[int]] = {}
    for one in answers:
        ranks = seen.get(one.file, ())
        nodes, devices = one.answer.nodes, one.answer.devices
        if len(ranks) < 2 or nodes < 1 or devices % nodes:
            continue
        of_node = devices // nodes
        first = min(ranks) // of_node
        if first == max(ranks) // of_node:
            found[one.file] = frozenset(range(first * of_node, (first + 1) * of_node))
    return found


def _add(job: JobAnswers, resource: TelemetryResource, found: ArtefactContents) -> None:
    last = job.answers[-1]
    detailed = [one for one in job.answers if one.answer.communicators or not one.answer.answered]
    if not detailed:
        found.until = max(found.until or last.at, last.at)
        return
    held = moments(job.answers)
    if len(job.answers) == 1:
        found.missing.append(
            "a second answer of NCCL RAS, a minute later: one alone does not tell a rank that "
            "stands from one that is late"
        )
    found.world_size = max(found.world_size, job.size)
    for one, at in held:
        _add_answer(job, one, at, resource, found)
    _add_unequal(job, resource, found)
    found.missing += list(
        dict.fromkeys(
            f"{text} (ncclras -v names more of them)"
            for made in last.answer.communicators
            for text in made.unnamed
        )
    )
    found.until = max(found.until or last.at, last.at)


def _add_answer(
    job: JobAnswers,
    dated: DatedAnswer,
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Add the counts, the ranks that lack and the errors of one answer."""
    answer = dated.answer
    whole_taken = False
    for made in sorted(answer.communicators, key=lambda one: (-one.size, -one.lag)):
        ranks = {
            number: rank
            for number in (*made.launched, *made.places, *made.missing, *made.errors)
            if (rank := job.rank(number, made, answer.nodes)) is not None and rank < _MOST_RANKS
        }
        whole = bool(job.size) and made.size == job.size
        if whole and not whole_taken and made.launched:
            group, whole_taken = world(made.size).name, True
            found.samples.append((resource, world(made.size).info(at)))
        else:
            group = communicator_group(made.name, whole=whole)
            if set(made.launched) <= ranks.keys() and len(made.launched) == made.size:
                info = communicator_info(group, made.name, ranks.values(), at)
                found.samples.append((resource, info))
        for number, rank in ranks.items():
            own = job.resource(rank, made.places.get(number), resource)
            if number in made.missing:
                continue
            alive = attributes(job.labels(rank, made.places.get(number)))
            found.samples.append((own, Sample("training.rank.info", 1.0, at, alive)))
            found.samples += [(own, one) for one in _counts(made, number, rank, group, at)]
        if dated is job.answers[-1] and at == dated.at and standing(job.answers):
            for number, signature, text in odd_ranks.odd(made, ranks):
                odd_ranks.add(job, dated, made, number, signature, text, resource, found)
        odd_ranks.add_errors(job, dated, made, ranks, at, resource, found)
    unanswered = absent_ranks.add(job, dated, at, resource, found)
    if not answer.answered and unanswered is not None:
        for rank in range(min(job.size, _MOST_RANKS)):
            if rank not in unanswered:
                alive = attributes(job.labels(rank, None))
                own = job.resource(rank, None, resource)
                found.samples.append((own, Sample("training.rank.info", 1.0, at, alive)))


def _counts(made: RasCommunicator, number: int, rank: int, group: str, at: float) -> list[Sample]:
    """Return what a rank launched: in all, and by kind where ranks launched other kinds."""
    if number not in made.launched or made.missing:
        return []  # what others launched follows from who is not there
    labels: dict[str, Scalar] = {"rank": rank, "group": group, "source": "ras"}
    found = [Sample("collective.enqueued", float(made.launched[number]), at, attributes(labels))]
    if made.lag == 0 and len({tuple(sorted(one.items())) for one in made.kinds.values()}) > 1:
        found += [
            Sample("collective.launches", float(count), at, attributes(labels | {"op": kind}))
            for kind, count in made.kinds.get(number, {}).items()
        ]
    return found


def _add_unequal(job: JobAnswers, resource: TelemetryResource, found: ArtefactContents) -> None:
    """Add what differs in the last answer, which names nobody: who is waited for may be open."""
    last = job.answers[-1]
    stands = unequal.stands([one.answer for one in job.answers])
    signature = unequal.STANDS if stands else unequal.NOW
    for _, text in unequal.told(last.answer) if stands is not None else ():
        report(signature, "cascade", None, text, last, last.at, resource, found)
