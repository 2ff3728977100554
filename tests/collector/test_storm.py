"""A storm: ten thousand findings within ten seconds that one switch explains are one incident.

From the telemetry through correlation, store and outbox to real HTTP servers.
"""

import http.server
import json
import threading
from typing import Any

import pytest

from rankscope.alerts.ports import Endpoint
from rankscope.collector.evaluation.schedule import Hooks, Schedule
from rankscope.collector.intake.payloads import Decoded
from rankscope.collector.pipeline import Pipeline
from rankscope.collector.store import Store, endpoints
from rankscope.collector.store.deliver import Deliverer
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.shape import EPOCH, Cluster, Job, Reporting, Scenario

ONSET, ENDS = 30.0, 50.0
HOSTS, PORTS, BEHIND = 144, 8, 128
"""The leaf switch of 128 hosts goes down, with their 1,024 ports."""

FINDINGS, SECONDS = 10_000, 10.0
MINUTE = 60.0
CHANNELS = ("chat", "pager")


@pytest.fixture(scope="module")
def recorded():
    return recording.simulate(
        Scenario(
            name="storm",
            text="a leaf switch goes down, and everything behind it",
            seconds=ENDS,
            cluster=Cluster(hosts=HOSTS, slots=1, nics=PORTS, hosts_per_switch=BEHIND),
            jobs=(Job(step_seconds=1.0, hiccups=0.0),),
            reporting=Reporting(),
            fault={
                "kind": "switch", "onset": ONSET, "host": 0, "place": 0, "slots": 1, "down": True,
                "per_switch": BEHIND, "gives_up": 60.0,
            },
        ),
        seed=1,
    )  # fmt: skip


class Receiver(http.server.ThreadingHTTPServer):
    """A real server that takes every message; `got`: (channel, time of the storm, body)."""

    daemon_threads = True

    def __init__(self, clock) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.clock = clock
        self.got: list[tuple[str, float, dict[str, Any]]] = []

    def sent(self, channel):
        """Return the bodies of the messages of a channel."""
        return [body for name, _, body in self.got if name == channel]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers 204."""

    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.got.append((self.path.strip("/"), self.server.clock.now(), body))
        self.send_response(204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_arguments) -> None:
        """Say nothing."""


class StormClock:
    """The time of the storm."""

    at = 0.0

    def now(self) -> float:
        return self.at


@pytest.fixture
def clock():
    return StormClock()


@pytest.fixture
def receiver(clock):
    server = Receiver(clock)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class Storm:
    """A pipeline, a store with two channels and what delivers; what was found in each second."""

    def __init__(self, url: str, port: int, clock: StormClock) -> None:
        self.store = Store(url)
        for name in CHANNELS:
            secret = endpoints.new_secret()
            address = f"http://127.0.0.1:{port}/{name}"
            self.store.add_webhook(Endpoint(name, address, secret, "standard"), 0.0)
        self.clock = clock
        self.deliverer = Deliverer(outbox=self.store, clock=clock)
        self.pipeline = Pipeline()
        self.pipeline.watch = lambda window, found: self.found.update({window.now: len(found)})
        self.found: dict[float, int] = {}
        self.changes: list[tuple[float, str]] = []

    def play(self, recorded) -> None:
        def failed(stage, error):
            raise AssertionError(stage) from error

        schedule = Schedule(self.pipeline, Hooks(changed=self.changed, failed=failed))
        now = 0.0
        for at, what in recorded.batches(self.pipeline.table):
            now = max(now, at)
            told = Decoded(metrics=what) if isinstance(what, MetricsBatch) else Decoded(events=what)
            schedule.apply(told, now)
        schedule.until(now)

    def changed(self, changes, now) -> None:
        self.store.commit(changes, now)
        self.changes += [(now, change.incident.id) for change in changes]
        self.deliver(now)

    def deliver(self, now) -> None:
        """Deliver what is due at a time of the storm, and wait for the receivers."""
        self.clock.at = max(now, self.clock.at)
        self.deliverer.run_once(self.clock.at)
        self.deliverer.settle()

    def most_findings(self) -> int:
        """Return how many findings there were at most within the seconds of a storm."""
        return max(
            sum(count for at, count in self.found.items() if start <= at < start + SECONDS)
            for start in self.found
        )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_findings_of_one_switch_are_one_incident_and_two_messages(
    recorded, receiver, clock, tmp_path
):
    storm = Storm(f"sqlite:///{tmp_path / 'rankscope.db'}", receiver.server_port, clock)
    storm.play(recorded)
    for second in range(int(ENDS), int(ONSET + SECONDS + MINUTE) + 1):  # what waits for others
        storm.deliver(EPOCH + second)
    assert storm.most_findings() >= FINDINGS
    (document,) = storm.store.incidents().items
    first = document["root_cause"]["hypotheses"][0]
    assert first["fault"] == "network.switch"
    assert first["entity"]["type"] == "switch"
    assert document["detected_at"] is not None
    opened = min(at for at, _ in storm.changes)
    assert EPOCH + ONSET <= opened <= EPOCH + ONSET + SECONDS
    assert clock.at >= opened + MINUTE
    for channel in CHANNELS:
        messages = receiver.sent(channel)
        assert 1 <= len(messages) <= 2
        assert {document["id"]} == {body["data"]["id"] for body in messages}
        assert "incident.opened" == messages[0]["type"]
    storm.deliverer.stop()
    storm.store.close()
