"""Parts of the cluster away for a while, one after the other: what stops, and what follows.

One NATS server, then PostgreSQL, then all of NATS. Jobs begin, and get their incident, while
PostgreSQL is away.
"""

import contextlib
import http.client
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rankscope.lab.demo.client import DemoClient

from ..soak.checks import OPENED
from ..soak.load import NAN_STEPS, AcknowledgedPayloads, LoadJob, payload
from .box import ClusterBox
from .gauges import gauges

AWAY_SECONDS = 5.0
_PATIENCE_SECONDS = 600.0
"""Longer than a message waits to be tried again that an endpoint has refused some times."""
_MORE = 10
"""Payloads that must be taken while something is away."""
_LATE_EVERY_SECONDS = 60.0
_MOST_LAG_SECONDS = 30.0
"""So far behind evaluation may be at most without PostgreSQL: it does not wait for it."""
_LAG = "rankscope_collector_evaluation_lag_seconds"

Say = Callable[[str], None]


@dataclass
class PartOutage:
    """One part that was away: for how long (s), what senders were answered, what followed.

    `heard` counts by status the answers to payloads from when it left until telemetry was taken
    again, "none": no answer. `again`: payloads that were taken only when sent again, `late`: that
    were taken late. `back`: after how many seconds telemetry was taken again, `caught_up`: and all
    that had waited. `pages`: after how many seconds came the page of each incident that opened
    meanwhile. `lag`: how far evaluation was behind at most (s).
    """

    part: str
    seconds: float
    heard: dict[str, int] = field(default_factory=dict)
    again: int = 0
    late: int = 0
    back: float | None = None
    caught_up: float | None = None
    pages: list[float] = field(default_factory=list)
    lag: float | None = None


@dataclass
class OutageRound:
    """What was away in a round, and what stopped that must not."""

    found: list[PartOutage] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def late_jobs(seconds: float) -> int:
    """Return how many jobs begin while PostgreSQL is away for so long."""
    return max(1, round(seconds / _LATE_EVERY_SECONDS))


def taken_away(
    box: ClusterBox,
    taken: AcknowledgedPayloads,
    load: Sequence[LoadJob],
    *,
    late: int,
    say: Say,
    seconds: float,
) -> OutageRound:
    """Take parts away for so long; the last `late` jobs of the load begin without PostgreSQL."""
    outages = OutageRound()
    _one_server(box, taken, outages)
    _database(box, taken, load[-late:], seconds, outages)
    _log(box, taken, load, seconds, outages)
    for row in outages.found:
        say(f"away: {row}")
    return outages


def _one_server(box: ClusterBox, taken: AcknowledgedPayloads, outages: OutageRound) -> None:
    box.nats.kill(1)
    if not _goes_on(taken):
        outages.wrong.append("telemetry was not taken while one NATS server was away")
    box.nats.start(1)


def _database(
    box: ClusterBox,
    taken: AcknowledgedPayloads,
    late: Sequence[LoadJob],
    seconds: float,
    outages: OutageRound,
) -> None:
    """Judgement goes on without PostgreSQL, and pages follow once it is back."""
    counted = _SenderCounts(taken)
    box.database.stop()
    began = time.monotonic()
    left, lag = list(late), 0.0
    while left or time.monotonic() - began < seconds:
        gone = time.monotonic() - began
        while left and gone >= (len(late) - len(left)) * seconds / len(late):
            left.pop(0).start()
        lag = max(lag, *(gauges(port, _LAG)[0] for port in box.collectors.ports))
        time.sleep(1.0)
    if not _goes_on(taken) or not all(_beyond_nan(job) for job in late):
        outages.wrong.append("telemetry was not taken while PostgreSQL was away")
    if lag > _MOST_LAG_SECONDS:
        outages.wrong.append(f"evaluation was {lag:.0f} s behind while PostgreSQL was away")
    jobs = {job.name for job in late}
    if early := _paged(box, jobs):
        outages.wrong.append(f"paged without the database: {sorted(early)}")
    away = time.monotonic() - began
    box.database.start()
    back = time.monotonic()
    pages: dict[str, float] = {}

    def all_paged() -> bool:
        for job in _paged(box, jobs) - pages.keys():
            pages[job] = round(time.monotonic() - back, 1)
        return pages.keys() == jobs

    _until(all_paged)
    outages.wrong += [f"{job}: no page followed" for job in sorted(jobs - pages.keys())]
    found = PartOutage(
        "PostgreSQL", round(away, 1), pages=sorted(pages.values()), lag=round(lag, 1)
    )
    counted.into(found)
    outages.found.append(found)


def _log(
    box: ClusterBox,
    taken: AcknowledgedPayloads,
    load: Sequence[LoadJob],
    seconds: float,
    outages: OutageRound,
) -> None:
    """Without NATS every collector refuses, and says when to come again."""
    counted = _SenderCounts(taken)
    box.nats.kill()
    began = time.monotonic()
    for port, client in zip(box.collectors.ports, box.collectors.clients, strict=True):
        _until(partial(_refuses, client))
        status, after = _refusal(port)
        if status != http.client.SERVICE_UNAVAILABLE or after is None:
            outages.wrong.append(f"without NATS a collector answers {status}, retry-after {after}")
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    away = time.monotonic() - began
    box.nats.start()
    back = time.monotonic()
    if not _goes_on(taken):
        outages.wrong.append("telemetry was not taken after all of NATS had been away")
    took = time.monotonic() - back
    _until(lambda: not any(job.is_alive() and job.behind > 1 for job in load))
    caught_up = time.monotonic() - back
    found = PartOutage("NATS", round(away, 1), back=round(took, 1), caught_up=round(caught_up, 1))
    counted.into(found)
    outages.found.append(found)
    if not found.heard.get(str(int(http.client.SERVICE_UNAVAILABLE))):
        outages.wrong.append("no sender was answered 503 while all of NATS was away")


class _SenderCounts:
    """What senders had heard before."""

    def __init__(self, taken: AcknowledgedPayloads) -> None:
        self._taken = taken
        with taken.lock:
            self._heard, self._again, self._late = taken.heard.copy(), taken.again, taken.late

    def into(self, outage: PartOutage) -> None:
        """Note what they have heard since."""
        with self._taken.lock:
            heard = self._taken.heard - self._heard
            outage.again = self._taken.again - self._again
            outage.late = self._taken.late - self._late
        outage.heard = {"none" if one is None else str(one): n for one, n in heard.items()}


def _until(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, _PATIENCE_SECONDS at most; tell whether it does."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.1)
    return held


def _goes_on(taken: AcknowledgedPayloads) -> bool:
    before = len(taken.payloads)
    return _until(lambda: len(taken.payloads) >= before + _MORE)


def _beyond_nan(job: LoadJob) -> bool:
    """Wait until a job's NaN and some steps after it are acknowledged; False where they are not."""
    return _until(lambda: job.sent > NAN_STEPS.stop)


def _refuses(client: DemoClient) -> bool:
    """Tell whether a collector says that it is not ready."""
    return not client.ready()


def _paged(box: ClusterBox, jobs: set[str]) -> set[str]:
    """Return of which of these jobs a page has come."""
    return {row.job for row in list(box.receiver.messages) if row.type == OPENED} & jobs


def _refusal(port: int) -> tuple[int | None, Any]:
    """Return how a collector answers telemetry, and its Retry-After."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    body = payload("refused", 1, time.time())
    with contextlib.closing(connection):
        try:
            connection.request(
                "POST", "/v1/metrics", body, {"content-type": "application/x-protobuf"}
            )
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return None, None
        return answer.status, answer.getheader("retry-after")
