"""Ranks that are unlike their peers by an answer of RAS, and those that report errors."""

from collections import Counter
from collections.abc import Iterator, Mapping

from .....formats.nccl.ras import RasCommunicator
from .....vocabulary.samples import TelemetryResource
from ...found import ArtefactContents
from .dated_answers import DatedAnswer
from .job_answers import JobAnswers
from .reports import report

FAILED = "nccl.ras_error"
BEHIND, UNLIKE, LEFT = "nccl.ras_behind", "nccl.ras_unlike", "nccl.ras_left"
_REMOTE = "remote process error"
"""What a rank reports of another one."""


def odd(made: RasCommunicator, ranks: Mapping[int, int]) -> Iterator[tuple[int, str, str]]:
    """Yield (rank, signature, what it did) of the few ranks that no counter can tell apart."""
    most = max(made.launched.values(), default=0)
    behind = [number for number, count in made.launched.items() if count < most]
    if made.launched.keys() - ranks.keys() and len(behind) <= made.size / 2:
        for number in behind:
            count = made.launched[number]
            yield number, BEHIND, f"launched {count} collectives, its peers {most}"
    if made.launched and made.lag == 0 and made.size > 2:
        usual = Counter(tuple(sorted(kinds.items())) for kinds in made.kinds.values())
        ((common, count),) = usual.most_common(1)
        for number, kinds in made.kinds.items() if 2 * count > made.size else ():
            extra = [kind for kind, launched in kinds.items() if launched > dict(common)[kind]]
            if extra:
                yield number, UNLIKE, f"launched {extra[0]} where its peers launched another kind"
    if len(made.left) <= made.size / 2:
        for number in made.left:
            yield number, LEFT, "is not in the communicator, which its peers wait in"


def add(
    job: JobAnswers,
    dated: DatedAnswer,
    made: RasCommunicator,
    number: int,
    signature: str,
    did: str,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Add an event for one of the few ranks that are unlike their peers."""
    place = made.places.get(number)
    rank = job.rank(number, made, dated.answer.nodes)
    where = f" (process {place.pid} on {place.host})" if place else ""
    whose = f"rank {number}" if rank is None else f"rank {rank}"
    text = f"{whose}{where} {did}: communicator {made.name} of {made.size} ranks"
    if rank is None:
        found.missing.append(f"which rank of the job it is: {text}")
    own = job.resource(rank, place, resource)
    report(signature, "root", rank, text, dated, dated.since, own, found)


def add_errors(
    job: JobAnswers,
    dated: DatedAnswer,
    made: RasCommunicator,
    ranks: Mapping[int, int],
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Add an event for each error that a rank reports of a communicator."""
    for number, said in sorted(made.errors.items()):
        place = made.places.get(number)
        where = f" (process {place.pid} on {place.host})" if place else ""
        rank = ranks.get(number)
        whose = f"rank {number if rank is None else rank}{where}"
        text = f"{whose} reports an error of its communicator: {said}"
        role = "cascade" if said == _REMOTE else "root"
        own = job.resource(rank, place, resource)
        report(FAILED, role, rank, text, dated, at, own, found)
