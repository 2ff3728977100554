"""Logs of ranks and of kernels: what their lines report, of which rank and on which host."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path

from ...formats import training_logs
from ...formats.training_logs import exports
from ...vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from . import (
    device_ranks,
    host_lines,
    job_size,
    job_span,
    kernel_logs,
    log_names,
    uncounted,
    unranked,
    verdicts,
)
from .endings import UNDATED, RankEndings
from .found import ArtefactContents, LogQuote
from .hang_story import HangStory
from .hangs import CollectiveHang
from .job_size import JobSurvey
from .job_span import JobSpan
from .kernel_logs import KernelContents
from .launches import LaunchRecord
from .nonfinite import NonfiniteQuotes
from .outlived import MAY_END, SurvivedErrors, noted, requoted
from .port_lines import PortLines
from .startup import START_SECONDS, StartUp, process_of, speaks_of_steps
from .survived import SurvivedLines
from .unknown_lines import UnknownLines, of_file, shown
from .verdicts import KnownRanks
from .victims import LineVictims, RankWhereabouts

_CONTROLS = bytes(one for one in range(32) if one not in b"\t\n\r\x08\x1b\f")
_TEXT_SHARE = 0.98
_MOST_RANKS = 1 << 16
_ORDER = {"root": 0, "background": 2}
"""Roles of quoted lines that stand first and last."""


@dataclass(slots=True)
class _LoggedProcess:
    """What logs tell about a rank's process: where it runs, and when it was seen to live."""

    host: str = ""
    pid: int | None = None
    hw_id: str | None = None
    first: float | None = None
    last: float | None = None

    def lives(self, at: float) -> None:
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)


@dataclass(slots=True)
class LogContents:
    """Everything that logs report, before it is known which rank runs where."""

    zone: tzinfo | None
    samples: list[tuple[int | None, Sample]] = field(default_factory=list)
    events: list[tuple[int | None, str, Event]] = field(default_factory=list)
    processes: dict[int, _LoggedProcess] = field(default_factory=dict)
    start: StartUp = field(default_factory=StartUp)
    endings: RankEndings = field(default_factory=RankEndings)
    hang: CollectiveHang = field(default_factory=CollectiveHang)
    survey: JobSurvey = field(default_factory=JobSurvey)
    whose: dict[str, int | None] = field(default_factory=dict)
    """Whose log each file is, None where it is nobody's alone."""
    launches: LaunchRecord = field(default_factory=LaunchRecord)
    settled: list[tuple[int | None, str, Event]] = field(default_factory=list)
    """What launchers' lines mean, by rank and host."""
    kernels: KernelContents = field(default_factory=KernelContents)
    ports: PortLines = field(default_factory=PortLines)

    def span(self) -> JobSpan | None:
        """Return when the job ran, by its own lines and its dumps."""
        samples = [sample for _, sample in self.samples]
        if self.endings.stood is not None:
            samples.append(Sample("collective.enqueued", 0.0, self.endings.stood, ()))
        return job_span.span(samples, (event for _, _, event in self.events))

    def victims(self) -> LineVictims:
        """Return what a kernel's lines are matched with."""
        endings = self.endings
        sizes = (
            _number(event.attributes.get("communicator.size"))
            for _, _, event in self.events
            if event.name == "collective.communicator"
        )
        return LineVictims(
            {
                rank: RankWhereabouts(one.host, one.pid, one.hw_id)
                for rank, one in self.processes.items()
            },
            endings.exits,
            endings.logs - endings.faults if endings.faults else frozenset(),
            max((size or 0 for size in sizes), default=0),
        )

    def shift(self, seconds: float) -> None:
        """Move all times by so much: those of logs, whose zone was another one."""

        def moved(at: float) -> float:
            return at + seconds if at >= UNDATED else at

        self.samples = [(rank, replace(one, at=moved(one.at))) for rank, one in self.samples]
        self.events = [
            (rank, file, replace(one, at=moved(one.at))) for rank, file, one in self.events
        ]
        for process in self.processes.values():
            process.first = None if process.first is None else moved(process.first)
            process.last = None if process.last is None else moved(process.last)
        self.hang.shift(seconds)

    def process(self, rank: int) -> _LoggedProcess:
        """Return what is known of a rank's process."""
        return self.processes.setdefault(rank, _LoggedProcess())


def is_text(head: bytes) -> bool:
    """Tell whether a file that begins so may be a log.

    One whose host lost its power has holes full of NULs, and terminals leave control codes.
    """
    written = head.replace(b"\0", b"")
    return len(written.translate(None, _CONTROLS)) >= _TEXT_SHARE * len(written) > 0


def gather(
    files: Mapping[str, Path],
    groups: Mapping[int, Mapping[str, str]],
    found: ArtefactContents,
    *,
    empty: Iterable[str] = (),
    zone: tzinfo | None,
    known: float | None = None,
) -> LogContents:
    """Return what the lines of all logs of a job report, given by name; `empty` are files of none.

    `groups` holds by rank the names of its groups by their description, where dumps tell them.
    `zone` is that of times without one, None: the machine's. `known` is when the job ran, where
    dumps tell it, s since the epoch.
    """
    gathered = LogContents(zone)
    ranks = log_names.ranks_of([*empty, *files])
    said: dict[str, int] = {}
    for name in empty:
        _has_log(ranks.get(name), gathered)
    gathered.survey = job_size.survey(files, zone, known)
    gathered.hang.files.update(gathered.survey.ranks)
    gathered.whose = {
        name: log_names.checked(name, ranks.get(name), gathered.survey.ranks.get(name, set()))
        for name in files
    }
    for name, path in files.items():
        try:
            said[name] = gathered.launches.read(name, path, zone, gathered.survey.near)
            said[name] += sum(1 for _ in _training(name, path, groups, gathered, found))
        except OSError as error:
            found.unread[name] = f"cannot be read: {error.strerror}"
    readable = {name: path for name, path in files.items() if name in said}
    gathered.kernels, told = kernel_logs.gather(readable, gathered.span(), zone=zone)
    for name, own in said.items():
        lines = own + told.get(name, 0)
        if lines:
            found.read[name] = f"log, {lines} lines of which say something"
        else:
            found.unread[name] = "no line in it is of a form or a fault that is known"
            found.unread[name] += of_file(found.unknown, name)
    if gathered.start.failed(()) and _stepped(files.values()):
        gathered.start = StartUp()  # who gave up a store or a group did so while it trained
    return gathered


def _stepped(files: Iterable[Path]) -> bool:
    """Return whether any log has lines of steps, whose form need not be known."""
    for path in files:
        try:
            with path.open("rb") as opened:
                if speaks_of_steps(opened):
                    return True
        except OSError:
            continue  # said where it was read
    return False


def _has_log(rank: int | None, gathered: LogContents) -> None:
    if rank is not None:
        gathered.endings.logs.add(rank)
        gathered.process(rank)


def _training(
    name: str,
    path: Path,
    groups: Mapping[int, Mapping[str, str]],
    gathered: LogContents,
    found: ArtefactContents,
) -> Iterator[int]:
    """Read what a job wrote; yield the number of each line that says something."""
    found.reading(name)
    rank = gathered.whose.get(name)
    known = groups.get(rank, {}) if rank is not None else {}
    _has_log(rank, gathered)
    if rank is not None:
        _learn_process(path, rank, gathered)
    nonfinite, unknown, survived = NonfiniteQuotes(name), UnknownLines(name), SurvivedLines()
    errors, places = SurvivedErrors(name, path), dict[int, int]()
    with path.open("rb") as opened:
        for line in training_logs.read(
            exports.lines(opened),
            rank=rank,
            groups=known,
            zone=gathered.zone,
            near=gathered.survey.near,
            unknown=unknown.learn,
        ):
            at = line.at
            values = rank
            for sample in line.samples:
                own = values = _rank(dict(sample.attributes), rank)
                survived.step(line.line, sample)
                gathered.samples.append((own, sample))
                gathered.hang.went_on(own)
                errors.learn_values(line.line, own)
                if own is not None and at is not None:
                    gathered.process(own).lives(at)
            for event in line.events:
                own = _rank(event.attributes, rank)
                if own is None and event.attributes.get("role") == "root":
                    own = gathered.launches.raised_in(name, line.line)
                event = gathered.hang.learn(event, own, at)
                if own is not None:
                    gathered.hang.files[name].add(own)
                errors.learn(event, line.line, own, dated=at is not None)
                places[len(gathered.events)] = line.line
                for whose, said in ((own, event), (None, gathered.ports.read(event))):
                    if said is not None:
                        survived.event(line.line, said, len(gathered.events))
                        gathered.events.append((whose, "", said))
                _learn(event, own, at, gathered)
                gathered.start.learn(event, own)
                gathered.endings.learn(event, own)
                _quote(event, own, name, line.line, at, found)
            nonfinite.learn(line, values)
            yield line.line
    if passed := errors.lines():
        for place, number in places.items():
            own, host, event = gathered.events[place]
            if number in passed and event.attributes.get("role") == "root":
                gathered.events[place] = (own, host, noted(event))
        found.quotes = requoted(found.quotes, name, passed)
    for place, order in survived.ordered():
        whose, host, event = gathered.events[place]
        gathered.events[place] = whose, host, replace(event, at=order)
    found.quotes += nonfinite.quotes()
    found.unknown += unknown.lines()


def _learn_process(path: Path, rank: int, gathered: LogContents) -> None:
    """Learn where a rank ran, from what NCCL writes before each of its lines."""
    with path.open("rb") as opened:
        found = process_of(opened)
    process = gathered.process(rank)
    if found is not None:
        process.host, process.pid = found


def _learn(event: Event, rank: int | None, at: float | None, gathered: LogContents) -> None:
    if event.name == "collective.communicator" and rank is not None:
        process = gathered.process(rank)
        process.host = str(event.attributes["host"])
        process.pid = _number(event.attributes.get("pid"))
        process.hw_id = f"pci:{event.attributes['pci.bus_id']}"
    if rank is not None and at is not None and event.name != "process.exit":
        gathered.process(rank).lives(at)


def _quote(
    event: Event, rank: int | None, name: str, line: int, at: float | None, found: ArtefactContents
) -> None:
    if event.name not in ("log.fault", "gpu.fault", "host.oom_kill"):
        return
    signature = str(event.attributes.get("signature") or event.attributes.get("code") or "")
    role = str(event.attributes.get("role") or "root")
    text = str(event.attributes.get("text", ""))
    found.quotes.append(LogQuote(name, line, at, rank, signature, role, text))


def _put_right(gathered: LogContents, found: ArtefactContents) -> None:
    """Move the times of logs into the zone of dumps, whose times have one."""
    shifted = gathered.hang.zone_apart(gathered.endings.stood)
    if shifted:
        gathered.shift(shifted)
        found.missing.append(
            f"the time zone of the logs: by the dumps they are {abs(shifted) / 60:.0f} minutes "
            f"{'behind' if shifted > 0 else 'ahead'}, which was put right"
        )


def _hang(
    gathered: LogContents, found: ArtefactContents, newest: float, *, dated: bool
) -> HangStory | None:
    """Return what is told of a hang; `newest`: the newest line's time, `dated`: one has any."""
    endings = gathered.endings
    size = max(found.world_size, gathered.survey.size)
    if endings.failed:
        present = gathered.hang.present(gathered.processes, size)
        endings.logs |= present - endings.exits.keys()
    # A rank that gave up ended soon after; where no end is listed, the job wrote until it waited.
    first = endings.first if endings.stood is None else None
    hang = gathered.hang.story(
        first or endings.stood or newest,
        size,
        gathered.processes,
        begins=first is None and (dated or endings.stood is not None),
    )
    for rank in () if hang is None else hang.ranks:
        gathered.process(rank)
    return hang


def add(gathered: LogContents, resource: TelemetryResource, found: ArtefactContents) -> None:
    """Give each sample and event its host and, where its line has none, a time; add them."""
    _put_right(gathered, found)
    _place_unranked(gathered, found)
    _settle(gathered, found)
    counted = uncounted.places(gathered.samples)
    gathered.samples += uncounted.steps(counted)
    gathered.events = [
        (rank, name, uncounted.event(event, rank, counted)) for rank, name, event in gathered.events
    ]
    kernels = _kernels(gathered, found)
    gathered.events += [(rank, "", event) for rank, event in kernels]
    _place_host_lines(gathered)
    times = [event.at for _, _, event in gathered.events if event.at > UNDATED]
    times += [sample.at for _, sample in gathered.samples if sample.at > UNDATED]
    times += [event.at for _, _, event in gathered.settled]
    newest = max([0.0 if found.until is None else found.until, *times]) or gathered.survey.written
    endings = gathered.endings
    hang = _hang(gathered, found, newest, dated=bool(times))
    size = max([found.world_size, gathered.survey.size, *(rank + 1 for rank in gathered.processes)])
    if hang is not None:
        newest = max(newest, hang.until)
        times.append(hang.began)
    oldest = min([newest, *times])

    def of(rank: int | None, named: str) -> TelemetryResource:
        host = gathered.processes[rank].host if rank in gathered.processes else ""
        return replace(resource, host=host or named)

    if hang is not None and endings.stood is None:
        endings.stood = hang.began
        found.samples += [(of(one, ""), sample) for one, sample in hang.samples()]
    for rank, sample in endings.dated(gathered.samples, newest):
        found.samples.append((of(rank, ""), sample))
    moved = endings.moved(gathered.samples, newest)
    orders = {order: at for (_, order), at in moved.items()}
    silent = [(rank, "", event) for rank, event in endings.without_words(newest)]
    if hang is not None:
        silent += [(one, "", event) for one, event in hang.events()]
        found.missing += hang.missing()
    for rank, _, event in [*gathered.events, *silent]:
        # A line without a time was written at the end, as most errors are.
        at = event.at or (hang and hang.ended(rank)) or endings.of(rank, newest)
        if event.name == "training.numeric":  # of a step
            at = moved.get((rank, event.at), at)
        elif 0 < event.at < UNDATED:
            at = orders.get(event.at, newest)
        pairs = dict(event.attributes) | ({} if rank is None else {"rank": rank})
        found.events.append(Event(event.name, at, pairs, of(rank, event.resource.host)))
    for rank, host, event in gathered.settled:
        place = replace(resource, host=host) if host else of(rank, "")
        found.events.append(replace(event, resource=place))
    found.missing += endings.missing()
    if found.unknown:
        found.missing.append(shown(found.unknown))
    start = gathered.start
    start.ran = bool(endings.exits or gathered.launches.of_kind("asked", "exit", "verdict"))
    if start.failed(sample for _, sample in found.samples):
        start.named(gathered.processes)
        for rank in start.gave_up:
            gathered.process(rank)
        size = max(size, start.joined[1] if start.joined else 0)
        oldest -= START_SECONDS
        for rank, event in start.events(gathered.processes, oldest, newest):
            found.events.append(replace(event, resource=of(rank, "")))
        found.missing += start.missing(gathered.processes)
    # A device that failed by its rank's own word may be known by nothing but that rank.
    devices = {
        rank: f"device-of-rank-{rank}"
        for rank, _, event in gathered.events
        if rank is not None and event.attributes.get("signature") == "cuda.ecc"
    }
    for rank in devices:
        gathered.process(rank).host = gathered.process(rank).host or verdicts.UNNAMED_HOST
    for rank, process in gathered.processes.items():
        labels: dict[str, Scalar | None] = {
            "rank": rank, "world_size": size, "pid": process.pid,
            "hw.id": process.hw_id or devices.get(rank),
        }  # fmt: skip
        for at in sorted({process.first or oldest, process.last or newest}):
            info = Sample("training.rank.info", 1.0, at, attributes(labels))
            found.samples.append((of(rank, ""), info))
    found.world_size = size
    if newest:
        found.until = newest
    found.quotes = [_placed(quote, gathered) for quote in found.quotes]
    found.quotes.sort(
        key=lambda one: (_ORDER.get(one.role, 1), one.at or newest, one.file, one.line)
    )


def _kernels(gathered: LogContents, found: ArtefactContents) -> device_ranks.KernelEvents:
    """Return what kernels report, with the ranks that own words and devices name."""
    victims = gathered.victims()
    told = gathered.kernels.settled(gathered.span(), victims, found)
    said = ((rank, event) for rank, _, event in gathered.events)
    places = device_ranks.joined(said, told, victims.processes)
    for rank, place in places.items():
        process = gathered.process(rank)
        process.host, process.hw_id = place.host, place.hw_id
    return device_ranks.placed(told, places)


def _place_unranked(gathered: LogContents, found: ArtefactContents) -> None:
    """Give values that name no rank to the highest that is known."""
    if all(rank is not None for rank, _ in gathered.samples):
        return
    last = max([0, found.world_size - 1, *gathered.processes])
    for number, (rank, sample) in enumerate(gathered.samples):
        if rank is None:
            gathered.samples[number] = (last, unranked.sample(sample, last))
            if sample.at > UNDATED:
                gathered.process(last).lives(sample.at)
    gathered.process(last)
    for number, (rank, name, event) in enumerate(gathered.events):
        if rank is None and event.name == "training.numeric":
            gathered.events[number] = (last, name, unranked.event(event, last))


def _place_host_lines(gathered: LogContents) -> None:
    """Give lines about a host that do not name it theirs, and a host to the ranks that it has.

    Those are the ranks of such lines, and all that have none where a line names no rank either.
    What steps followed was survived, and stays a line.
    """
    over = host_lines.survived(sample for _, sample in gathered.samples)
    about = [
        host_lines.about_host(event) and not UNDATED <= event.at < over
        for _, _, event in gathered.events
    ]
    whose = [rank for (rank, _, _), of_host in zip(gathered.events, about, strict=True) if of_host]
    named = {event.resource.host for _, _, event in gathered.events if event.resource.host}
    host = host_lines.host_of({r: one.host for r, one in gathered.processes.items()}, named)
    if not whose or not host:
        return
    if None in whose:
        whose += [*gathered.processes] or [0]
    for rank in {rank for rank in whose if rank is not None}:
        process = gathered.process(rank)
        process.host = process.host or host
    gathered.events = [
        (rank, file, host_lines.placed(event, host) if of_host and rank is None else event)
        for (rank, file, event), of_host in zip(gathered.events, about, strict=True)
    ]


def _settle(gathered: LogContents, found: ArtefactContents) -> None:
    """Add what launchers said of the ends of ranks, hosts and the job."""
    record = gathered.launches
    if not record.reports:
        return
    size = max(found.world_size, gathered.survey.size, record.size)
    gathered.survey = replace(gathered.survey, size=max(gathered.survey.size, record.size))
    times = [event.at for _, _, event in gathered.events if event.at > UNDATED]
    times += [sample.at for _, sample in gathered.samples if sample.at > UNDATED]
    newest = max([found.until or 0.0, *times]) or gathered.survey.written
    verdict = verdicts.settle(record, _known(gathered, size), newest)
    for placed, host in verdict.hosts.items():
        gathered.process(placed).host = host
    for rank, host, event in verdict.events:
        if rank is not None:
            gathered.process(rank)
        gathered.settled.append((rank, host, event))
        gathered.endings.learn(event, rank)
    gathered.events = [
        (verdict.raised, file, event) if _unplaced(rank, event) else (rank, file, event)
        for rank, file, event in gathered.events
    ]
    found.missing += verdict.missing
    record.quote(found, verdict.roots, size)


def _known(gathered: LogContents, size: int) -> KnownRanks:
    """Return what the logs of ranks say; `size`: of the job, as far as anything else says it."""
    cut = {
        rank
        for rank, _, event in gathered.events
        if rank is not None and event.attributes.get("role") == "cascade"
    }
    roots = frozenset(gathered.hang.fatal)
    spoke = gathered.endings.logs | {r for ranks in gathered.hang.files.values() for r in ranks}
    spoke |= {rank for rank, _ in gathered.samples if rank is not None}
    cut -= roots
    size = max(size, 1 + max(gathered.processes, default=-1))
    silent = spoke - gathered.endings.faults if cut else set[int]()
    absent = set(range(min(size, _MOST_RANKS))) - spoke
    if cut and not silent and len(absent) == 1:
        silent = absent
    return KnownRanks(
        size=size,
        ranks=frozenset(gathered.processes) | spoke or frozenset({0}),
        roots=roots,
        cut=frozenset(cut),
        silent=tuple(sorted(silent)),
        hung=bool(gathered.hang.waited) or gathered.endings.waited > 0,
        hosts={rank: one.host for rank, one in gathered.processes.items() if one.host},
        kernels=frozenset(gathered.kernels.hosts),
        listed=dict(gathered.endings.exits),
    )


def _unplaced(rank: int | None, event: Event) -> bool:
    """Tell whether an event is an error that ended a process, which one no line says."""
    return (
        rank is None
        and MAY_END.match(str(event.attributes.get("signature", ""))) is not None
        and event.attributes.get("role") == "root"
    )


def _placed(quote: LogQuote, gathered: LogContents) -> LogQuote:
    """Return a quoted line with the host that its rank ran on, where that is known."""
    process = None if quote.rank is None else gathered.processes.get(quote.rank)
    return quote if quote.host or process is None else replace(quote, host=process.host)


def _rank(pairs: Mapping[str, Scalar], otherwise: int | None) -> int | None:
    found = _number(pairs.get("rank"))
    return otherwise if found is None else found


def _number(value: Scalar | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
