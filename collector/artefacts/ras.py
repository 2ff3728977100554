"""Answers of NCCL's RAS as telemetry: in files of their own, or somewhere inside a job's log.

Counts of a job at work differ for a moment. What moves between two answers stands for a job at
work; of one answer alone a difference of one collective says nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path

from ...formats.nccl import ras
from ...formats.nccl.ras import RankPlace, RasCommunicator, RasStatus
from ...formats.training_logs import cleaning, times
from ...vocabulary.groups import communicator_group, communicator_info, world
from ...vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from . import ras_unequal
from .found import ArtefactContents, LogQuote

_BLOCK = 4 << 20
_OVERLAP = 64
_APART_SECONDS = 120.0
"""Between answers whose times are not known: people ask again when minutes later nothing moved."""
_COPIED_SECONDS = 1.0
"""Files written so close together were copied: their times are not those of the answers."""
_SETTLED_SECONDS = 5.0
"""So long after its last line a job that stands has launched all that it will launch."""
_REPORT_SECONDS, _MOST_FILLED = 5.0, 24
_LINES_BEFORE = 2000
_MOST_RANKS = 65_536
_MOST_LINE = 64 << 20
_NUMBERS = re.compile(r"\d+")

MISSING, FAILED = "nccl.ras_missing", "nccl.ras_error"
BEHIND, UNLIKE, LEFT = "nccl.ras_behind", "nccl.ras_unlike", "nccl.ras_left"
_REMOTE = "remote process error"
"""What a rank reports of another one."""


@dataclass(frozen=True, slots=True)
class DatedAnswer:
    """An answer, the file that it stands in, and when it was given, s since the epoch.

    `since`: from when on what it says may have held: a job's last line before it.
    """

    file: str
    answer: RasStatus
    at: float
    since: float


@dataclass(slots=True)
class _JobAnswers:
    """All answers about one job, in order of time, and what they say of its ranks."""

    answers: Sequence[DatedAnswer]
    hosts: Mapping[int, str]
    pids: Mapping[int, int]
    size: int = 0
    """Ranks of the job, 0 where no communicator has all of its devices."""
    ranks: dict[tuple[str, int, int | None], int] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)
    """Ranks that did not answer and were described."""

    def __post_init__(self) -> None:
        sizes = [size for one in self.answers for size, _ in one.answer.sizes]
        sizes += [made.size for one in self.answers for made in one.answer.communicators]
        devices = max((one.answer.devices for one in self.answers), default=0)
        largest = max(sizes, default=0)
        self.size = largest if largest >= devices else 0
        for one in self.answers:
            for made in one.answer.communicators:
                if made.size == self.size:
                    self.ranks |= made.by_process()

    def rank(self, number: int, made: RasCommunicator, nodes: int) -> int | None:
        """Return the job's rank of a communicator's; None where nothing tells it."""
        if self.size and made.size == self.size:
            return number
        place = made.places.get(number)
        return None if place is None else self.of_process(place, nodes)

    def of_process(self, place: RankPlace, nodes: int) -> int | None:
        """Return the rank of a process and its device.

        On one node alone ranks follow the devices, as launchers number them.
        """
        known = self.ranks.get((place.host, place.pid, place.device))
        if known is not None:
            return known
        of_pid = [rank for rank, pid in self.pids.items() if pid == place.pid]
        if len(of_pid) == 1:
            return of_pid[0]
        of_pid = [rank for (host, pid, _), rank in self.ranks.items()
                  if (host, pid) == (place.host, place.pid)]  # fmt: skip
        if len(of_pid) == 1:
            return of_pid[0]
        return place.device if nodes == 1 else None


def read(
    alone: Mapping[str, Path],
    logs: Mapping[str, Path],
    *,
    zone: tzinfo | None,
    hosts: Mapping[int, str],
    pids: Mapping[int, int],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> list[DatedAnswer]:
    """Add what all answers say: those of files that begin with one, and those inside `logs`.

    Returns them in order of time. `hosts` and `pids` are those of ranks as far as logs tell them.
    """
    dated = _alone(alone, zone, found)
    for name, path in logs.items():
        if name not in alone and _may_hold(path):
            dated += _answers(name, path, zone)
    dated.sort(key=lambda one: one.at)
    for name in {one.file for one in dated}:
        found.read[name] = _described([one.answer for one in dated if one.file == name])
        found.unread.pop(name, None)
    if dated:
        _add(_JobAnswers(dated, hosts, pids), resource, found)
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


def _alone(
    files: Mapping[str, Path], zone: tzinfo | None, found: ArtefactContents
) -> list[DatedAnswer]:
    """Return the answers of files that begin with one, by when these were written."""
    answers: dict[str, list[DatedAnswer]] = {}
    for name, path in files.items():
        answers[name] = _answers(name, path, zone)
        if not answers[name]:
            found.unread[name] = "answer of NCCL RAS: it ends before its communicators"
    written = {name: path.stat().st_mtime for name, path in files.items() if answers[name]}
    copied = len(written) > 1 and max(written.values()) - min(written.values()) < _COPIED_SECONDS
    names = sorted(written, key=lambda name: (0.0 if copied else written[name], _natural(name)))
    for place, name in enumerate(names if copied else ()):
        later = (len(names) - 1 - place) * _APART_SECONDS
        answers[name] = [
            one if one.answer.stamp else replace(one, at=one.at - later, since=one.since - later)
            for one in answers[name]
        ]
    return [one for each in answers.values() for one in each]


def _natural(name: str) -> tuple[str | int, ...]:
    return (_NUMBERS.sub("0", name), *map(int, (part[:18] for part in _NUMBERS.findall(name))))


def _may_hold(path: Path) -> bool:
    rest = b""
    with path.open("rb") as opened:
        while block := opened.read(_BLOCK):
            if ras.holds_answer(block) or ras.holds_answer(rest + block[:_OVERLAP]):
                return True
            rest = block[-_OVERLAP:]
    return False


def _answers(name: str, path: Path, zone: tzinfo | None) -> list[DatedAnswer]:
    """Return the answers in a file, with their times: their own, or between lines that have one."""
    with path.open("rb") as opened:
        answers = ras.answers(_text(data) for data in opened)
    if not answers:
        return []
    dated = _dated(path, [one.line for one in answers], zone)
    written = path.stat().st_mtime
    found: list[DatedAnswer] = []
    for place, one in enumerate(answers):
        at = times.read(one.stamp, zone) if one.stamp else None
        since, otherwise = _between(place, answers, dated, written)
        if at is None:
            at = otherwise
        found.append(DatedAnswer(name, one, at, min(max(since, at - _APART_SECONDS), at)))
    return found


def _text(data: bytes) -> str:
    """Return a line with its blanks: of a JSON answer the place of its braces counts.

    One line may be all of it.
    """
    whole = data[:1].isspace() or b'"communicators_count"' in data
    return data[: _MOST_LINE if whole else cleaning.LONGEST].decode("utf-8", "replace")


def _dated(path: Path, lines: Sequence[int], zone: tzinfo | None) -> list[tuple[int, float]]:
    """Return (number, time) of lines around answers that begin in `lines`; others are not read.

    Those are the lines before an answer, and after it those up to the first with a time.
    """
    found: list[tuple[int, float]] = []
    at: float | None = None
    place, after = 0, False
    with path.open("rb") as opened:
        for number, data in enumerate(opened):
            if place < len(lines) and number >= lines[place]:
                place += 1
                after = True
            before = place < len(lines) and number >= lines[place] - _LINES_BEFORE
            if not (before or after):
                continue
            line = cleaning.clean(data[: cleaning.LONGEST])
            stamped = times.read(line.stamp or line.text, zone, at)
            if stamped is None or '"timestamp"' in line.text:
                continue
            at = stamped
            found.append((number, at))
            after = after and number == lines[place - 1]
    return found


def _between(
    place: int, answers: Sequence[RasStatus], dated: Sequence[tuple[int, float]], written: float
) -> tuple[float, float]:
    """Return since when an answer may hold and when it was given, where it has no time itself.

    Several between two lines with times are a time apart each.
    """
    line = answers[place].line
    before = max((one for one in dated if one[0] <= line), default=None)
    after = min((one for one in dated if one[0] > line), default=None)
    first, last = -1 if before is None else before[0], None if after is None else after[0]
    beside = [
        one.line for one in answers if first <= one.line and (last is None or one.line < last)
    ]
    number, count = beside.index(line) + 1, len(beside)
    if before is not None and before[0] == line:
        return before[1], before[1]
    if before is None:
        ended = written + _APART_SECONDS if after is None else after[1]
        at = ended - (count + 1 - number) * _APART_SECONDS
        return at - _APART_SECONDS, at
    apart = _APART_SECONDS if after is None else (after[1] - before[1]) / (count + 1)
    at = before[1] + number * apart
    return min(before[1] + _SETTLED_SECONDS, at) if number == 1 else at, at


def _described(answers: Sequence[RasStatus]) -> str:
    """Return how a file of answers is shown: what the last one says."""
    last = answers[-1]
    count = f"{len(answers)} answers" if len(answers) > 1 else "answer"
    shown = len(last.sizes) or len(last.communicators)
    communicators = f"{shown} communicator{'' if shown == 1 else 's'}"
    if last.answered:
        uneven = any(status != "OK" for _, status in last.sizes) or last.communicators
        unequal = "; ".join(filter(None, map(_unequal, last.communicators)))
        equal = f"; {unequal}" if unequal else "" if uneven else ", their counts agree"
        text = f"all ranks answered{equal}"
    else:
        gone = max([len(last.missing) + len(last.dead),
                    *(len(one.missing) for one in last.communicators)])  # fmt: skip
        text = f"{gone or 'some'} did not answer"
    cut = "" if last.whole else ", cut off before its end"
    return f"{count} of NCCL RAS, {communicators}: {text}{cut}"


def _unequal(made: RasCommunicator) -> str:
    """Return who is last in a communicator, "" where none is or too many are."""
    most = max(made.launched.values(), default=0)
    behind = sorted(number for number, count in made.launched.items() if count < most)
    if not 0 < len(behind) <= min(8, made.size / 2):
        return ""
    least = min(made.launched.values())
    numbers = ", ".join(map(str, behind))
    return f"rank {numbers} of {made.size} launched {least} collectives, its peers {most}"


def _add(job: _JobAnswers, resource: TelemetryResource, found: ArtefactContents) -> None:
    last = job.answers[-1]
    detailed = [one for one in job.answers if one.answer.communicators or not one.answer.answered]
    if not detailed:
        found.until = max(found.until or last.at, last.at)
        return
    moments = _moments(job.answers)
    if len(job.answers) == 1:
        found.missing.append(
            "a second answer of NCCL RAS, a minute later: one alone does not tell a rank that "
            "stands from one that is late"
        )
    found.world_size = max(found.world_size, job.size)
    for one, at in moments:
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


def _moments(answers: Sequence[DatedAnswer]) -> list[tuple[DatedAnswer, float]]:
    """Return each answer with the times at which it held.

    Counts only grow: what is the same in two answers was the same between them. Nobody asks a job
    at work: one answer alone that says something is taken to have stood for a while.
    """
    moments: list[tuple[DatedAnswer, float]] = []
    told = [_told(one.answer) for one in answers]
    for place, one in enumerate(answers):
        alike = told[place] in (told[place - 1 : place] + told[place + 1 : place + 2])
        last = place == len(answers) - 1
        if alike or (last and not any(told[:place]) and _stands(one.answer)):
            before = answers[place - 1].at if place else -math.inf
            held = before if place and told[place - 1] == told[place] else one.since
            moments += [(one, at) for at in _filled(max(held, before), one.at)]
        moments.append((one, one.at))
    return moments


def _standing(answers: Sequence[DatedAnswer]) -> bool:
    """Tell whether what the last answer says stands: it was said before, or is too much to pass."""
    told = [_told(one.answer) for one in answers]
    if len(told) > 1 and any(told[:-1]):
        return told[-1] == told[-2]
    return _stands(answers[-1].answer)


def _filled(since: float, until: float) -> list[float]:
    """Return times from one to before the other, as often as a live source reports."""
    count = min(max(int((until - since) / _REPORT_SECONDS), 1), _MOST_FILLED)
    return [since + (until - since) * number / count for number in range(count)][since >= until :]


def _told(answer: RasStatus) -> list[object]:
    """Return what an answer says of ranks, to compare it with another's."""
    every = sorted(answer.communicators, key=lambda one: one.name)
    return [(one.name, one.launched, one.kinds, one.missing, one.left) for one in every]


def _stands(answer: RasStatus) -> bool:
    """Tell whether one answer alone is enough to take a job for one that stands."""
    return not answer.answered or any(made.lag > 1 for made in answer.communicators)


def _add_answer(
    job: _JobAnswers,
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
            own = _resource(job, rank, made.places.get(number), resource)
            if number in made.missing:
                continue
            alive = attributes(_of_rank(job, rank, made.places.get(number)))
            found.samples.append((own, Sample("training.rank.info", 1.0, at, alive)))
            found.samples += [(own, one) for one in _counts(made, number, rank, group, at)]
        if dated is job.answers[-1] and at == dated.at and _standing(job.answers):
            for number, signature, text in _odd(made, ranks):
                _add_odd(job, dated, made, number, signature, text, resource, found)
        _add_errors(job, dated, made, ranks, at, resource, found)
    unanswered = _add_missing(job, dated, at, resource, found)
    if not answer.answered and unanswered is not None:
        for rank in range(min(job.size, _MOST_RANKS)):
            if rank not in unanswered:
                alive = attributes(_of_rank(job, rank, None))
                own = _resource(job, rank, None, resource)
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


def _add_unequal(job: _JobAnswers, resource: TelemetryResource, found: ArtefactContents) -> None:
    """Add what differs in the last answer, which names nobody: who is waited for may be open."""
    last = job.answers[-1]
    stands = ras_unequal.stands([one.answer for one in job.answers])
    signature = ras_unequal.STANDS if stands else ras_unequal.NOW
    for _, text in ras_unequal.told(last.answer) if stands is not None else ():
        _report(signature, "cascade", None, text, last, last.at, resource, found)


def _add_missing(
    job: _JobAnswers,
    dated: DatedAnswer,
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> set[int] | None:
    """Add an event for each rank whose process did not answer, and say which processes are of none.

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
            found.missing.append(f"which rank process {place.pid} on {place.host} is: it did not "
                                 "answer NCCL's RAS service")  # fmt: skip
        else:
            ranks[rank] = place
    for rank, place in sorted(ranks.items()):
        where = f" (process {place.pid} on {place.host})" if place else ""
        dead = place is not None and (place.host, place.pid) in gave_up
        text = f"rank {rank}{where} did not answer NCCL's RAS service" + (
            ", which considers it dead" if dead else ""
        )
        known = attributes(_of_rank(job, rank, place))
        own = _resource(job, rank, place, resource)
        new = rank not in job.known
        if new:
            # That it is one of the job's is all that is known of it.
            job.known.add(rank)
            found.samples.append((own, Sample("training.rank.info", 1.0, at - 1.0, known)))
        if new or (at == dated.at and len(job.answers) > 1):
            _report(MISSING, "root", rank, text, dated, at, own, found)
    return None if unnamed else set(ranks)


def _odd(made: RasCommunicator, ranks: Mapping[int, int]) -> Iterator[tuple[int, str, str]]:
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


def _add_odd(
    job: _JobAnswers,
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
    own = _resource(job, rank, place, resource)
    _report(signature, "root", rank, text, dated, dated.since, own, found)


def _add_errors(
    job: _JobAnswers,
    dated: DatedAnswer,
    made: RasCommunicator,
    ranks: Mapping[int, int],
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    for number, said in sorted(made.errors.items()):
        place = made.places.get(number)
        where = f" (process {place.pid} on {place.host})" if place else ""
        rank = ranks.get(number)
        whose = f"rank {number if rank is None else rank}{where}"
        text = f"{whose} reports an error of its communicator: {said}"
        role = "cascade" if said == _REMOTE else "root"
        own = _resource(job, rank, place, resource)
        _report(FAILED, role, rank, text, dated, at, own, found)


def _report(
    signature: str,
    role: str,
    rank: int | None,
    text: str,
    dated: DatedAnswer,
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    pairs: dict[str, Scalar] = {"signature": signature, "role": role, "text": text}
    if rank is not None:
        pairs["rank"] = rank
    found.events.append(Event("log.fault", at, pairs, resource))
    line = dated.answer.line + 1
    found.quotes.append(LogQuote(dated.file, line, dated.at, rank, signature, role, text))


def _resource(
    job: _JobAnswers, rank: int | None, place: RankPlace | None, resource: TelemetryResource
) -> TelemetryResource:
    host = job.hosts.get(-1 if rank is None else rank, "") or (place.host if place else "")
    return replace(resource, host=host)


def _of_rank(job: _JobAnswers, rank: int, place: RankPlace | None) -> dict[str, Scalar | None]:
    return {
        "rank": rank,
        "world_size": job.size or None,
        "pid": place.pid if place else job.pids.get(rank),
    }
