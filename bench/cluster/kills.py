"""A round of the kill test: load on a whole cluster while its collectors are killed, then checks.

Each round has a cluster of its own; the state of all rounds is in a file, so that an interrupted
test goes on with the next round.
"""

import hashlib
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankscope.collector.cluster import replaying
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun
from rankscope.collector.settings.log import LogSettings
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.vocabulary.times import parse

from ..soak import checks
from ..soak.load import AcknowledgedPayloads, LoadJob
from ..soak.rounds import SoakState
from .box import ClusterBox
from .outages import AWAY_SECONDS, PartOutage, late_jobs, taken_away
from .takeovers import PartitionTakeover, killed

JOBS = 6
KILLS_A_ROUND = 50
KILLS_A_JOB = 2
CLOCK_AHEAD_SECONDS = 300.0
_STEADY = 2
"""Jobs that train all the time. The others begin one after the other, and end on their own, so that
some incident is new, and some ends, whenever a collector is killed."""
_STEPS = 96
"""Of a job at least: its NaN may come late by a takeover, and time stands while NATS is away."""
_BETWEEN_SECONDS = (0.2, 3.0)
_SETTLED_SECONDS = 480.0
_JOB_SECONDS = 480.0

Say = Callable[[str], None]


@dataclass
class KillFigures:
    """What was measured in a round."""

    takeovers: list[PartitionTakeover] = field(default_factory=list)
    outages: list[PartOutage] = field(default_factory=list)


def round_of(
    folder: Path,
    state: SoakState,
    *,
    kills: int,
    say: Say,
    jobs: int = JOBS,
    resolved: bool = True,
    away_seconds: float = AWAY_SECONDS,
) -> KillFigures:
    """Run a round, add what was found to the state; return what was measured.

    At its end parts are away, each for so long. Without `resolved` it does not wait until incidents
    are over. One collector's clock is ahead by CLOCK_AHEAD_SECONDS.
    """
    state.rounds += 1
    chance = random.Random(f"{state.seed} {state.rounds}")
    box = ClusterBox(
        folder / f"round-{state.rounds:03}",
        collectors=3,
        servers=3,
        ahead_seconds={2: CLOCK_AHEAD_SECONDS},
    )
    taken, measured, over = AcknowledgedPayloads(), KillFigures(), threading.Event()
    late = late_jobs(away_seconds)
    early = max(jobs - late, kills // KILLS_A_JOB, _STEADY)
    names = [f"kill-{state.rounds:03}-{number:02}" for number in range(early + late)]
    load = [
        LoadJob(
            name,
            number,
            box.address,
            taken,
            steps=_STEPS,
            enough=over if number < _STEADY else None,
        )
        for number, name in enumerate(names)
    ]
    steady, passing = load[:_STEADY], load[_STEADY:early]
    many = len(passing)
    try:
        box.start()
        for job in steady:
            job.start()
        for number in range(kills):
            for job in passing[many * number // kills : many * (number + 1) // kills]:
                job.start()
            time.sleep(chance.uniform(*_BETWEEN_SECONDS))
            took = killed(box, chance)
            measured.takeovers.append(took)
            say(f"kill {state.kills + number + 1}: {took}")
        for job in passing:
            if job.ident is None:
                job.start()
        for number in range(box.collectors.count):
            box.collectors.wait_until_ready(number)
        away = taken_away(box, taken, load, late=late, say=say, seconds=away_seconds)
        measured.outages += away.found
        over.set()
        for job in load:
            if not resolved:
                job.stop()
            job.join(_JOB_SECONDS)
        documents = _settled(box, names, resolved=resolved)
        box.collectors.end()
        wrong = _wrong(box, names, load, taken, documents, resolved=resolved)
    finally:
        for job in load:
            job.stop()
        box.stop()
    state.wrong += [*away.wrong, *wrong]
    state.kills += kills
    state.jobs += names
    state.payloads += len(taken.payloads)
    state.repeated += checks.repeats(box.receiver.messages)
    return measured


def _wrong(
    box: ClusterBox,
    names: list[str],
    load: list[LoadJob],
    taken: AcknowledgedPayloads,
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
    found += checks.incidents(names, _in_time(taken, documents), documents)
    defects: list[str] = []

    def replay() -> ReplayRun:
        return ReplayRun(
            pipeline=DetectionPipeline(),
            warn=defects.append,
            failed=lambda stage, error: defects.append(f"replay, {stage}: {error!r}"),
        )

    again = replaying.replayed(log, replay)
    return [*found, *defects, *checks.replayed(every(box.store), again)]


def _in_time(taken: AcknowledgedPayloads, documents: list[dict[str, Any]]) -> set[str]:
    """Return the jobs whose incident a person acknowledged before it was over.

    Back from an outage, the database shows it open until it has been told of its end.
    """
    over = {row["job"]: parse(row["resolved_at"]) for row in documents if row["resolved_at"]}
    return {job for job, at in taken.people.items() if at < over.get(job, math.inf)}


def _settled(box: ClusterBox, names: list[str], *, resolved: bool) -> list[dict[str, Any]]:
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
    store = IncidentDatabaseStore(url)
    try:
        return store.incidents(limit=1000).items
    finally:
        store.close()
