"""How fast the processes of a host eat up its memory: shared by the detectors of their leaks."""

from collections.abc import Callable

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.entities import process as process_entity
from ...vocabulary.findings import Finding
from .. import durations
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow
from . import growth

PRIVATE = "process.memory.private"
SHARED = "process.memory.shared"
RESIDENT = "process.memory.usage"
USAGE = "system.memory.usage"
LIMIT = "system.memory.limit"

LEAST_BYTES, LEAST_SHARE = 64 * 2.0**20, 0.03
"""Growth over a range below which a process is left alone: in bytes, and of its own memory."""

FORESEEN = 200.0
"""What would last longer than so many times that it was seen to grow for is not foreseen yet."""

MOST = 8
"""So many processes are named, the fastest first."""


def least(private: Floats) -> Floats:
    """Return [processes], the smallest growth that counts, of their newest private memory."""
    return np.maximum(LEAST_BYTES, LEAST_SHARE * np.nan_to_num(private))


def room(window: JobWindow) -> Floats:
    """Return [hosts], bytes that are left; NaN where nobody reports them."""
    usage, limit = window.of_hosts(USAGE).latest()[0], window.of_hosts(LIMIT).latest()[0]
    return np.where(limit > 0, np.maximum(limit - usage, 0.0), np.nan)


def foreseen(window: JobWindow, found: growth.RowGrowth, host: Ints) -> Flags:
    """Return [found], whether growth was seen for long enough to say when it ends.

    What a process still gathers in its first minutes would fill its host in days. Where nobody
    reports what is left of the host's memory, all of it is kept.
    """
    with np.errstate(invalid="ignore"):
        late: Flags = left(window, found, host)[0] > FORESEEN * (found.end - found.begun)
    return ~late


def entity(window: JobWindow, host: int, pid: int, row: int) -> Entity:
    """Return a process, with the rank that it is or works for."""
    ranks = () if row < 0 else (int(window.ranks[row]),)
    return process_entity(window.hosts[host], pid, ranks)


def reports(
    window: JobWindow,
    detector: Detector,
    kind: str,
    found: growth.RowGrowth,
    *,
    host: Ints,
    pid: Ints,
    row: Ints,
    horizon: float,
    name: Callable[[int], str],
) -> list[Finding]:
    """Return a finding for each of the processes that grow fastest.

    host, pid, row: [found], index into hosts, process id, and row of the rank that it is or works
    for. name: what a process is called, by its place in what was found.
    """
    times = left(window, found, host)
    return [
        report(
            window,
            detector.name,
            kind,
            entity(window, int(host[place]), int(pid[place]), int(row[place])),
            onset=float(found.begun[place]),
            magnitude=min(float(np.nan_to_num(times[0][place], nan=np.inf)),
                          growth.INTEREST_SECONDS),
            score=growth.score(float(times[0][place]), float(found.seen[place]), horizon),
            signal=PRIVATE,
            observed=float(found.slope[place]),
            expected=0.0,
            text=f"private memory of {name(place)} grows by {_words(found, place, times)}",
        )
        for place in _fastest(window, found, host, pid)
    ]  # fmt: skip


def left(window: JobWindow, found: growth.RowGrowth, host: Ints) -> tuple[Floats, Floats, Floats]:
    """Return [found] seconds until the host's memory is used up: expected, shortest, longest.

    All processes that grow on a host use it up together. host: [found], index into hosts.
    """
    remaining = room(window)[host]

    def together(values: Floats) -> Floats:
        return np.bincount(host, weights=values, minlength=len(window.hosts)).astype(float)[host]

    expected, low, high = found.rates()
    decay = together(expected * found.decay) / together(expected)
    times = [growth.used_up(remaining, together(rate), decay) for rate in (expected, high, low)]
    return times[0], times[1], times[2]


def _fastest(window: JobWindow, found: growth.RowGrowth, host: Ints, pid: Ints) -> list[int]:
    """Return places in what was found, the fastest first, the order of rows apart."""
    names = np.array([window.hosts[index] for index in host.tolist()])
    return [int(place) for place in np.lexsort((pid, names, -found.slope))[:MOST]]


def _words(found: growth.RowGrowth, place: int, times: tuple[Floats, Floats, Floats]) -> str:
    """Return how fast one grows, for how long, and when its host's memory is used up."""
    rate = found.slope[place] * 60 / 2**20
    text = (
        f"{rate:.3g} MiB a minute for {durations.duration(found.end - float(found.begun[place]))}"
    )
    seconds, shortest, longest = (float(time[place]) for time in times)
    if not seconds < growth.INTEREST_SECONDS:
        return text
    return f"{text}; with what else grows there the host's memory is used up in " + growth.span(
        shortest, seconds, longest
    )
