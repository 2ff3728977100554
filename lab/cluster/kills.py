"""A round of the kill test: load on a whole cluster while its collectors are killed, then checks.

Each round has a cluster of its own; the state of all rounds is in a file, so that an interrupted
test goes on with the next round.
"""

import hashlib
import random
import re
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...collector.cluster import replaying
from ...collector.cluster.settings import LogSettings
from ...collector.pipeline import Pipeline
from ...collector.replay import Replay
from ...collector.store.store import Store
from ..soak import checks
from ..soak.load import NAN_STEPS, Acknowledged, Job
from ..soak.rounds import State
from .box import Box

JOBS = 6
KILLS_A_ROUND = 10
CLOCK_AHEAD_SECONDS = 300.0
_BETWEEN_SECONDS = (2.0, 8.0)
_TAKEOVER_SECONDS = 240.0
"""The end of any patience; how long it took is measured."""
_AWAY_SECONDS = 5.0
_MORE = 10
"""Payloads that must be taken while something is away."""
_SETTLED_SECONDS = 480.0
_JOB_SECONDS = 480.0
_GAUGE = re.compile(r"^rankscope_collector_partitions(_recovering)? ([0-9.]+)$", re.MULTILINE)

Say = Callable[[str], None]


def round_of(
    folder: Path, state: State, *, kills: int, say: Say, jobs: int = JOBS, resolved: bool = True
) -> list[float]:
    """Run a round, add what was found to the state; return the time of each takeover in seconds.

    Without `resolved` it does not wait until incidents are over. One collector's clock is ahead by
    CLOCK_AHEAD_SECONDS.
    """
    state.rounds += 1
    chance = random.Random(f"{state.seed} {state.rounds}")
    box = Box(
        folder / f"round-{state.rounds:03}",
        collectors=3,
        servers=3,
        ahead_seconds={2: CLOCK_AHEAD_SECONDS},
    )
    taken = Acknowledged()
    took: list[float] = []
    over, early = threading.Event(), jobs - 1
    names = [f"kill-{state.rounds:03}-{number:02}" for number in range(jobs)]
    load = [Job(name, number, box.address, taken, enough=over) for number, name in enumerate(names)]
    try:
        box.start()
        for number in range(kills):
            # Jobs begin one after the other, so that some incident is new whenever one is killed.
            for job in load[early * number // kills : early * (number + 1) // kills]:
                job.start()
            time.sleep(chance.uniform(*_BETWEEN_SECONDS))
            took.append(_killed(box, chance.randrange(box.collectors.count)))
            say(f"kill {state.kills + number + 1}: taken over within {took[-1]:.1f} s")
        state.wrong += _outages(box, taken, load[early:], say)
        over.set()
        for job in load:
            if not resolved:
                job.stop()
            job.join(_JOB_SECONDS)
        documents = _settled(box, names, resolved=resolved)
        box.collectors.end()
        state.wrong += _wrong(box, names, load, taken, documents, resolved=resolved)
    finally:
        for job in load:
            job.stop()
        box.stop()
    state.kills += kills
    state.jobs += names
    state.payloads += len(taken.payloads)
    state.repeated += checks.repeats(box.receiver.messages)
    return took


def _outages(box: Box, taken: Acknowledged, late: list[Job], say: Say) -> list[str]:
    """Take parts away for a while; return what stopped that must not.

    Late jobs begin, and get their incident, while PostgreSQL is away.
    """
    wrong: list[str] = []
    box.nats.kill(1)
    if not _goes_on(taken):
        wrong.append("telemetry was not taken while one NATS server was away")
    box.nats.start(1)
    box.database.stop()
    for job in late:
        job.start()
    if not _goes_on(taken) or not all(_beyond_nan(job) for job in late):
        wrong.append("telemetry was not taken while PostgreSQL was away")
    box.database.start()
    box.nats.kill()
    time.sleep(_AWAY_SECONDS)
    box.nats.start()
    if not _goes_on(taken):
        wrong.append("telemetry was not taken after all of NATS had been away")
    say("one NATS server, PostgreSQL and all of NATS were away, one after the other")
    return wrong


def _goes_on(taken: Acknowledged) -> bool:
    """Tell whether more payloads are acknowledged."""
    end = time.monotonic() + _TAKEOVER_SECONDS
    before = len(taken.payloads)
    while len(taken.payloads) < before + _MORE:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _beyond_nan(job: Job) -> bool:
    """Wait until a job's NaN and some steps after it are acknowledged; False where they are not."""
    end = time.monotonic() + _TAKEOVER_SECONDS
    while job.sent < NAN_STEPS.stop + 1 and time.monotonic() < end:
        time.sleep(0.1)
    return job.sent > NAN_STEPS.stop


def _killed(box: Box, number: int) -> float:
    """Kill a collector and start it again; return after how long the others had its partitions."""
    others = [one for one in range(box.collectors.count) if one != number]
    box.collectors.kill(number)
    began = time.monotonic()
    while True:
        found = [partitions(box.collectors.ports[one]) for one in others]
        took = time.monotonic() - began
        if sum(owned for owned, _ in found) >= box.partitions and not any(
            recovering for _, recovering in found
        ):
            break
        if took > _TAKEOVER_SECONDS:
            raise RuntimeError(f"the partitions of collector {number} were not taken over: {found}")
        time.sleep(0.1)
    box.collectors.start(number)
    box.collectors.wait_until_ready(number)
    return took


def partitions(port: int) -> tuple[int, int]:
    """Return how many partitions a collector owns, and how many of them it is restoring."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return 0, 0
    found = {match[1] or "": float(match[2]) for match in _GAUGE.finditer(text)}
    return int(found.get("", 0)), int(found.get("_recovering", 0))


def _wrong(
    box: Box,
    names: list[str],
    load: list[Job],
    taken: Acknowledged,
    documents: list[dict[str, Any]],
    *,
    resolved: bool,
) -> list[str]:
    """Return what must not be, once no collector runs any more."""
    log = LogSettings(url=box.nats.url, partitions=box.partitions)
    held = {hashlib.sha256(entry.body).hexdigest() for entry in replaying.held(log)}
    found = [*taken.refused, *checks.payloads(taken.payloads, held)]
    found += checks.messages(box.receiver.messages, documents)
    if not resolved:
        jobs = [row["job"] for row in documents]
        found += [f"{job}: {jobs.count(job)} incidents" for job in names if jobs.count(job) != 1]
        return found
    found += [f"{job.name}: it could not send everything" for job in load if job.is_alive()]
    found += checks.incidents(names, taken.people, documents)
    defects: list[str] = []

    def replay() -> Replay:
        return Replay(
            pipeline=Pipeline(),
            warn=defects.append,
            failed=lambda stage, error: defects.append(f"replay, {stage}: {error!r}"),
        )

    again = replaying.replayed(log, replay)
    return [*found, *defects, *checks.replayed(every(box.store), again)]


def _settled(box: Box, names: list[str], *, resolved: bool) -> list[dict[str, Any]]:
    """Return all incidents once those of these jobs are there and nothing is to be sent."""
    end = time.monotonic() + _SETTLED_SECONDS
    while True:
        documents = every(box.store)
        there = {row["job"] for row in documents if row["status"] == "resolved" or not resolved}
        pending = box.collectors.clients[0].ask(
            "/api/v1/webhooks/soak/deliveries?state=pending&limit=1"
        )
        sent = pending is not None and not pending["items"]
        if (there >= set(names) and sent) or time.monotonic() > end:
            return documents
        time.sleep(1.0)


def every(url: str) -> list[dict[str, Any]]:
    """Return all incidents of a store."""
    store = Store(url)
    try:
        return store.incidents(limit=1000).items
    finally:
        store.close()
