"""Jobs whose loss turns NaN for some steps, and that send until they are acknowledged."""

import contextlib
import hashlib
import http.client
import itertools
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from rankscope.formats.otlp import encode
from rankscope.lab.demo.client import DemoClient
from rankscope.vocabulary.samples import Attributes, Sample, TelemetryResource

HOSTS, RANKS_A_HOST = 2, 2
STEP_SECONDS = 1.0
NAN_STEPS = range(4, 7)
STEPS = 72
"""So many that the incident is over before the job is: it closes a minute after the last NaN."""

LATE_SECONDS = 2.0

_HEADERS = {"content-type": "application/x-protobuf"}
_TIMEOUT_SECONDS = 10.0
_AGAIN_SECONDS = 0.2
_ACKNOWLEDGE_EVERY = 3
"""Somebody acknowledges the incident of every third job."""


@dataclass
class AcknowledgedPayloads:
    """What the collector has taken: digests of payloads, and jobs that a person acknowledged, when.

    `heard` counts by status the answers to payloads, None: no answer. `again` counts payloads that
    were taken only when they were sent again, `late` those taken LATE_SECONDS after their step.
    """

    payloads: set[str] = field(default_factory=set)
    heard: Counter[int | None] = field(default_factory=Counter)
    again: int = 0
    late: int = 0
    people: dict[str, float] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def payload(
    job: str,
    step: int,
    at: float,
    nan: Container[int] = NAN_STEPS,
    *,
    cluster: str | None = None,
) -> bytes:
    """Return what all hosts of a job report of a step that ended at `at` (s since the epoch).

    The loss of the steps in `nan` is NaN.
    """
    groups: list[tuple[TelemetryResource, Sequence[Sample]]] = []
    for host in range(HOSTS):
        ranks = range(host * RANKS_A_HOST, (host + 1) * RANKS_A_HOST)
        samples = [sample for rank in ranks for sample in _rank(rank, step, at, nan)]
        groups.append((TelemetryResource(host=f"{job}-{host}", job=job, cluster=cluster), samples))
    return encode.metrics_request(groups)


def _rank(rank: int, step: int, at: float, nan: Container[int]) -> Iterable[Sample]:
    mine: Attributes = (("rank", rank),)
    yield Sample("training.step", float(step), at, mine)
    yield Sample("training.step.duration", STEP_SECONDS, at, mine)
    yield Sample("training.compute.duration", 0.8 * STEP_SECONDS, at, mine)
    yield Sample("training.comm.duration", 0.2 * STEP_SECONDS, at, mine)
    loss = math.nan if step in nan else 2.0 + 0.01 * (step % 5)
    yield Sample("training.loss", loss, at, (*mine, ("scope", "local")))
    placed = (("local_rank", rank % RANKS_A_HOST), ("pid", 100 + rank))
    yield Sample("training.rank.info", 1.0, at, (*mine, *placed, ("world_size", 4)))


class LoadJob(threading.Thread):
    """One job, in real time. It sends each payload until it is taken, as agents do."""

    def __init__(
        self,
        name: str,
        number: int,
        address: tuple[str, int],
        taken: AcknowledgedPayloads,
        *,
        steps: int = STEPS,
        enough: threading.Event | None = None,
    ) -> None:
        """Train for so many steps, and on until `enough` is set, where that is given."""
        super().__init__(name=name, daemon=True)
        self._steps = steps
        self._enough = enough
        self.sent = 0
        """Steps whose payload is acknowledged."""
        self._address = address
        self._taken = taken
        self._people = number % _ACKNOWLEDGE_EVERY == 0
        self._stopped = threading.Event()
        self._began = 0.0

    @property
    def behind(self) -> int:
        """Return how many steps have ended whose payload is not acknowledged."""
        return int((time.time() - self._began) / STEP_SECONDS) - self.sent

    def run(self) -> None:
        """Train to the end."""
        self._began = time.time()
        for step in itertools.count(1):
            if step > self._steps and (self._enough is None or self._enough.is_set()):
                return
            at = self._began + step * STEP_SECONDS
            if self._stopped.wait(max(0.0, at - time.time())):
                return
            self._send(payload(self.name, step, at), at)
            self.sent = step
            if self._people and step > NAN_STEPS[-1] and self.name not in self._taken.people:
                self._acknowledge()

    def stop(self) -> None:
        """End before the end: whoever runs the soak was interrupted."""
        self._stopped.set()

    def _send(self, body: bytes, at: float) -> None:
        for tried in itertools.count():
            if self._stopped.is_set():
                return
            status = self._post("/v1/metrics", body, _HEADERS)
            with self._taken.lock:
                self._taken.heard[status] += 1
            if status == http.client.OK:
                with self._taken.lock:
                    self._taken.payloads.add(hashlib.sha256(body).hexdigest())
                    self._taken.again += bool(tried)
                    self._taken.late += time.time() - at > LATE_SECONDS
                return
            if status is not None and status < http.client.INTERNAL_SERVER_ERROR:
                with self._taken.lock:
                    self._taken.refused.append(f"{self.name}: answered {status}")
                return
            self._stopped.wait(_AGAIN_SECONDS)

    def _acknowledge(self) -> None:
        """Try once: there is a next step."""
        client = DemoClient("http://{}:{}".format(*self._address))
        found = [row for row in client.incidents(self.name) if row["status"] == "open"]
        if not found:
            return
        body = json.dumps({"by": "soak", "note": "seen"}).encode()
        path = f"/api/v1/incidents/{found[0]['id']}/ack"
        # 202: in the journal, and the store will follow. Both are promises.
        status = self._post(path, body, {"content-type": "application/json"})
        if status in (http.client.OK, http.client.ACCEPTED):
            with self._taken.lock:
                self._taken.people[self.name] = time.time()

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> int | None:
        """Return the status, None where there was no answer."""
        connection = http.client.HTTPConnection(*self._address, timeout=_TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            try:
                connection.request("POST", path, body, headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return None
            return answer.status
