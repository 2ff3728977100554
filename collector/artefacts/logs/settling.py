"""What logs told, as telemetry: each line of a rank, on a host, at a time."""

import itertools
from dataclasses import replace

from ....vocabulary.entities import UNNAMED_HOST
from ....vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from ..collectives.hang_story import HangStory
from ..found import ArtefactContents, LogQuote
from ..hosts import device_ranks
from ..job.endings import UNDATED
from ..job.startup import START_SECONDS
from ..launches import outlived, quoted_waits, settlement
from ..launches.known import KnownRanks
from ..launches.outlived import StepCourse
from . import host_lines, memory_kills, survival, uncounted, unplaced, unranked
from .contents import LogContents
from .unknown_lines import shown

_MOST_RANKS = 1 << 16
_OF_DEVICES = frozenset({
    "cuda.ecc", "cuda.nvlink_error", "driver.device_gone", "gpu.device_lost", "gpu.hung",
})  # fmt: skip
"""Signatures by which a rank says that its device failed, or a link of it."""
_OF_LAUNCHERS = ("python.exception", "torchrun.child_failed")
"""Signatures of which a cascade says that a launcher lost what it had started."""
_FEWEST_STEPS, _STOOD_STEPS, _STOOD_SECONDS = 3, 10, 900.0
"""Steps that tell a pace; a job stood once so many of its longest, and so long, passed without one.
"""
_MOST_SPOKEN = 16
"""Lines of a rank after its last step that show that it lives."""
_ORDER = {"root": 0, "background": 2}
"""Roles of quoted lines that stand first and last."""


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
    _place_by_prefix(gathered)
    _settle(gathered, found)
    gathered.events = unplaced.placed(gathered.events, raised=None, exits=gathered.endings.exits)
    counted = uncounted.places(gathered.samples, gathered.falls)
    lost = uncounted.lost(gathered.samples)
    gathered.samples += uncounted.steps(counted)
    counted = {**counted, **lost}
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

    places: dict[str, TelemetryResource] = {}

    def of(rank: int | None, named: str) -> TelemetryResource:
        host = (gathered.processes[rank].host if rank in gathered.processes else "") or named
        if host not in places:
            places[host] = replace(resource, host=host)
        return places[host]

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
    # What a log says of the training is said where it trains: a host of its own has a clock.
    trained = {place.host for place, _ in found.samples}
    here = trained.pop() if len(trained) == 1 else ""
    for rank, _, event in [*gathered.events, *silent]:
        # A line without a time was written at the end, as most errors are.
        at = event.at or (hang and hang.ended(rank)) or endings.of(rank, newest)
        if event.name == "training.numeric":  # of a step
            at = moved.get((rank, event.at), at)
        elif 0 < event.at < UNDATED:
            at = orders.get(event.at, newest)
        pairs = dict(event.attributes) | ({} if rank is None else {"rank": rank})
        named = event.resource.host or (here if event.name.startswith("training.") else "")
        found.events.append(Event(event.name, at, pairs, of(rank, named)))
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
        if rank is not None and event.attributes.get("signature") in _OF_DEVICES
    }
    for rank in devices:
        gathered.process(rank).host = gathered.process(rank).host or UNNAMED_HOST
    spoke = _spoke(gathered)
    for rank, process in gathered.processes.items():
        labels: dict[str, Scalar | None] = {
            "rank": rank, "world_size": size, "pid": process.pid,
            "hw.id": process.hw_id or devices.get(rank),
        }  # fmt: skip
        for at in sorted({process.first or oldest, process.last or newest, *spoke.get(rank, ())}):
            info = Sample("training.rank.info", 1.0, at, attributes(labels))
            found.samples.append((of(rank, ""), info))
    found.world_size = size
    if hang is None and gathered.done.keys() >= gathered.stepped.keys() != set():
        # No step follows the last one of a training that is complete.
        ended = max((sample.at for _, sample in found.samples), default=newest)
        for rank in gathered.processes:
            pairs = {"rank": rank, "phase": "shutdown"}
            found.events.append(Event("training.phase", ended, pairs, of(rank, "")))
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


def _place_by_prefix(gathered: LogContents) -> None:
    """Give ranks the hosts that stand before their lines, where nothing else names any."""
    named = gathered.survey.hosts
    kernels = gathered.kernels.hosts
    if any(one.host for one in gathered.processes.values()) or (
        kernels and not {*named.values()} & {*kernels}
    ):
        return
    for rank, host in named.items():
        gathered.process(rank).host = host


def _place_host_lines(gathered: LogContents) -> None:
    """Give lines about a host that do not name it theirs, and a host to the ranks that it has.

    Those are the ranks of such lines, and all that have none where a line names no rank either.
    What steps followed was survived, and stays a line.
    """
    over = survival.until(sample for _, sample in gathered.samples)
    about = [
        host_lines.about_host(event) and not UNDATED <= event.at < over
        for _, _, event in gathered.events
    ]
    known: dict[int | None, str] = {rank: one.host for rank, one in gathered.processes.items()}
    for place, (rank, file, event) in enumerate(gathered.events):
        if not known.get(rank) and (about[place] or host_lines.of_transport(event)):
            gathered.events[place] = rank, file, host_lines.by_prefix(event)
    whose = [rank for (rank, _, _), of_host in zip(gathered.events, about, strict=True) if of_host]
    named = {event.resource.host for _, _, event in gathered.events if event.resource.host}
    host = host_lines.host_of([*known.values(), *named], gathered.wrote)
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
    _outlive(gathered, found)
    kernels = gathered.kernels.faults
    record.reports = memory_kills.explained(record.reports, kernels, gathered.span())
    record.reports = quoted_waits.followed(record.reports, found.quotes)
    size = max(found.world_size, gathered.survey.size, record.size)
    gathered.survey = replace(gathered.survey, size=max(gathered.survey.size, record.size))
    times = [event.at for _, _, event in gathered.events if event.at > UNDATED]
    times += [sample.at for _, sample in gathered.samples if sample.at > UNDATED]
    newest = max([found.until or 0.0, *times]) or gathered.survey.written
    verdict = settlement.settle(record, _known(gathered, size), newest)
    for placed, host in verdict.places.hosts.items():
        gathered.process(placed).host = host
    for rank, host, event in verdict.events:
        if rank is not None:
            gathered.process(rank)
        gathered.settled.append((rank, host, event))
        gathered.endings.learn(event, rank)
    gathered.events = unplaced.placed(gathered.events, raised=verdict.raised, exits={})
    found.missing += verdict.missing
    record.quote(found, verdict.roots, size)


def _outlive(gathered: LogContents, found: ArtefactContents) -> None:
    """Set aside what launchers call dead though the job went on, whatever else reads its line."""
    record = gathered.launches
    course = StepCourse.of(gathered.samples, (fall.at for fall in gathered.falls))
    record.reports, quotes = outlived.apart(
        record.reports, course, gathered.outlived, gathered.stepped, gathered.done
    )
    places = {(quote.file, quote.line) for quote in quotes}
    others = [quote for quote in found.quotes if (quote.file, quote.line) in places]
    found.quotes = [quote for quote in found.quotes if quote not in others] + quotes
    said = {(quote.at, quote.text) for quote in others}
    for place, (rank, host, event) in enumerate(gathered.events):
        pairs = event.attributes
        if event.name == "log.fault" and (event.at or None, pairs.get("text")) in said:
            gathered.events[place] = (
                rank, host, replace(event, attributes={**pairs, "role": "confirmation"})
            )  # fmt: skip


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
        faulted=any(_faults(event) for _, _, event in gathered.events),
        hung=bool(gathered.hang.waited) or gathered.endings.waited > 0,
        stepped=any(one.metric.startswith("training.") for _, one in gathered.samples),
        hosts={rank: one.host for rank, one in gathered.processes.items() if one.host},
        kernels=frozenset(gathered.kernels.hosts),
        due=_due(gathered.samples),
        listed=dict(gathered.endings.exits),
    )


def _spoke(gathered: LogContents) -> dict[int, set[float]]:
    """Return by rank when it wrote lines after its last step: it lives as its peers do."""
    told = [
        (rank, event)
        for rank, _, event in gathered.events
        if rank is not None and event.name == "log.fault" and event.at >= UNDATED
    ]
    stepped: dict[int | None, float] = {}
    for rank, sample in gathered.samples if told else ():
        stepped[rank] = max(stepped.get(rank, 0.0), sample.at)
    found: dict[int, set[float]] = {}
    for rank, event in told:
        own = found.setdefault(rank, set())
        if event.at > stepped.get(rank, 0.0) and len(own) < _MOST_SPOKEN:
            own.add(event.at)
    return found


def _due(samples: list[tuple[int | None, Sample]]) -> float | None:
    """Return until when a job with such steps would have written its next one."""
    at = sorted({
        one.at for _, one in samples if one.metric.startswith("training.") and one.at > UNDATED
    })  # fmt: skip
    if len(at) < _FEWEST_STEPS:
        return None
    longest = max(later - earlier for earlier, later in itertools.pairwise(at))
    return at[-1] + max(_STOOD_SECONDS, _STOOD_STEPS * longest)


def _faults(event: Event) -> bool:
    """Tell whether a line points at a fault, other than that what a launcher started has ended."""
    pairs = event.attributes
    if event.name == "log.fault" and pairs.get("signature") in _OF_LAUNCHERS:
        return pairs.get("role") == "root"
    return event.name in ("gpu.fault", "host.oom_kill") or (
        event.name == "log.fault" and pairs.get("role") in ("root", "cascade")
    )


def _placed(quote: LogQuote, gathered: LogContents) -> LogQuote:
    """Return a quoted line with the host that its rank ran on, where that is known."""
    process = None if quote.rank is None else gathered.processes.get(quote.rank)
    return quote if quote.host or process is None else replace(quote, host=process.host)
