"""A round: jobs begin while the collector is killed again and again; then everything is checked.

Rounds share one data folder, so that what an earlier one left behind is part of the load.
"""

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rankscope.collector.journal import journal
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.formats.segments.rewriting import rewrite

from . import checks
from .load import STEPS, AcknowledgedPayloads, LoadJob
from .receiver import MessageReceiver
from .victim import VictimCollector

KILLS_A_ROUND = 50
KILLS_A_JOB = 3

_AT_START = 0.3
"""Share of kills that do not wait until the collector is ready."""
_STARTING_SECONDS, _WORKING_SECONDS = 2.0, 2.5
_SETTLED_SECONDS = 480.0
"""Longer than the silence after which a job's incident is over: a NaN that came late, since the
collector was killed, may leave less than a minute of the job."""

Say = Callable[[str], None]


@dataclass
class SoakState:
    """How far a soak has come, in a file; `jobs`: those of whole rounds, `people`: acknowledged."""

    seed: int = 0
    rounds: int = 0
    kills: int = 0
    payloads: int = 0
    repeated: int = 0
    jobs: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, *, seed: int) -> "SoakState":
        """Return what the file says, a new state where there is none."""
        if not path.exists():
            return cls(seed=seed)
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Keep it, whole or not at all."""
        rewrite(path, [json.dumps(asdict(self), indent=2).encode()])


class SoakRun:
    """Everything that outlives a round: state, receiver, and the collector's address."""

    def __init__(
        self,
        folder: Path,
        state: SoakState,
        *,
        victim: VictimCollector,
        receiver: MessageReceiver,
        say: Say = print,
    ) -> None:
        self._file = folder / "state.json"
        self.state = state
        self._victim = victim
        self._receiver = receiver
        self._say = say
        self._chance = random.Random(f"{state.seed} {state.rounds}")

    def round(self, kills: int) -> None:
        """Kill so many times under load, check, and keep the state."""
        self.state.rounds += 1
        self.state.write(self._file)  # the names of an interrupted round are not used again
        count = max(2, kills // KILLS_A_JOB)
        taken = AcknowledgedPayloads()
        names = [f"soak-{self.state.rounds:03}-{number:02}" for number in range(count)]
        jobs = [
            LoadJob(name, number, ("127.0.0.1", self._victim.port), taken)
            for number, name in enumerate(names)
        ]
        try:
            self._victim.start()
            for killed in range(kills):
                for job in jobs[count * killed // kills : count * (killed + 1) // kills]:
                    job.start()
                self._wait_for_a_moment()
                self._victim.kill()
                self._victim.start()
            self._victim.wait_until_ready()
            for job in jobs:
                job.join(4 * STEPS)
            documents = self._settled(names)
            self._victim.stop()
        finally:
            for job in jobs:
                job.stop()
            self._victim.kill()
        self.state.kills += kills
        self.state.jobs += names
        self.state.people += sorted(taken.people)
        self.state.payloads += len(taken.payloads)
        self.state.repeated = checks.repeats(self._receiver.messages)
        self.state.wrong += [
            *taken.refused,
            *(f"{job.name}: it could not send everything" for job in jobs if job.is_alive()),
            *checks.payloads(taken.payloads, self._journal()),
            *checks.incidents(names, taken.people.keys(), documents),
            *checks.messages(self._receiver.messages, documents),
        ]
        self.state.write(self._file)
        self._say(
            f"round {self.state.rounds}: {self.state.kills} kills, {len(self.state.jobs)} jobs, "
            f"{self.state.payloads} payloads, {self.state.repeated} messages repeated under their "
            f"id, {len(self.state.wrong)} wrong"
        )

    def finish(self) -> None:
        """Compare what the store ends with and what a replay of the whole journal says."""
        self._victim.start()
        try:
            self._victim.wait_until_ready()
            self._victim.stop()
        finally:
            self._victim.kill()
        documents = _every(self._victim.store)  # after the end: nothing is under way any more
        defects: list[str] = []
        replay = ReplayRun(
            pipeline=DetectionPipeline(),
            warn=defects.append,
            failed=lambda stage, error: defects.append(f"replay, {stage}: {error!r}"),
        )
        again = replay.run(self._victim.data)
        self.state.wrong += [*defects, *checks.replayed(documents, again)]
        if self._receiver.unsigned:
            self.state.wrong.append(f"{self._receiver.unsigned} messages were not signed rightly")
        self.state.write(self._file)

    def _wait_for_a_moment(self) -> None:
        if self._chance.random() < _AT_START:
            time.sleep(self._chance.uniform(0.0, _STARTING_SECONDS))
            return
        self._victim.wait_until_ready()
        time.sleep(self._chance.uniform(0.0, _WORKING_SECONDS))

    def _settled(self, names: list[str]) -> list[dict[str, Any]]:
        """Return all incidents once those of these jobs are resolved and nothing is to be sent."""
        end = time.monotonic() + _SETTLED_SECONDS
        while True:
            documents = list(self._documents())
            over = {row["job"] for row in documents if row["status"] == "resolved"}
            done = over >= set(names) and not self._pending()
            if done or time.monotonic() > end:
                return documents
            time.sleep(1.0)

    def _documents(self) -> Iterator[dict[str, Any]]:
        more: str | None = ""
        while more is not None:
            page = self._victim.client.ask(f"/api/v1/incidents?limit=100{more}") or {}
            yield from page.get("items", ())
            cursor = page.get("next_cursor")
            more = f"&cursor={cursor}" if cursor else None

    def _pending(self) -> bool:
        path = "/api/v1/webhooks/soak/deliveries?state=pending&limit=1"
        found = self._victim.client.ask(path)
        return found is None or bool(found["items"])

    def _journal(self) -> set[str]:
        """Return the digests of all payloads that the journal holds."""
        entries = journal.read(self._victim.data / "journal")
        return {hashlib.sha256(entry.body).hexdigest() for entry in entries}


def _every(url: str) -> list[dict[str, Any]]:
    """Return all incidents of a store that no collector uses."""
    store = IncidentDatabaseStore(url)
    try:
        documents: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = store.incidents(limit=1000, cursor=cursor)
            documents += page.items
            cursor = page.next_cursor
            if cursor is None:
                return documents
    finally:
        store.close()
