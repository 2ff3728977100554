"""A storm: a thousand findings of one switch, within ten seconds or all through a minute.

In the long target ten thousand. They are one incident: from telemetry through correlation, store
and outbox to real HTTP servers.
"""

import json
from typing import Any

import pytest
from tests.clocks import SetClock
from tests.examples import LONG
from tests.serving import Answer, served

from rankscope.alerts.ports import NotifiedEndpoint
from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.store import IncidentDatabaseStore, endpoints
from rankscope.collector.store.deliver import OutboxDeliverer
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)

ONSET, PORTS = 30.0, 8
FINDINGS, SECONDS = (10_000 if LONG else 1000), 10.0
AT_ONCE, IN_A_MINUTE = (128, 32) if LONG else (16, 8)
"""Hosts behind the switch that bring so many."""
MINUTE = 60.0
CHANNELS = ("chat", "pager")


def recorded(*, behind, ends):
    """Return how the leaf switch of `behind` hosts goes down, with their ports, until `ends`."""
    return recording.simulate(
        SimulationScenario(
            name="storm",
            text="a leaf switch goes down, and everything behind it",
            seconds=ends,
            cluster=SimulatedCluster(
                hosts=behind + behind // 8, slots=1, nics=PORTS, hosts_per_switch=behind
            ),
            jobs=(SimulatedJob(step_seconds=1.0, hiccups=0.0),),
            reporting=ReportingHabits(),
            fault={
                "kind": "switch", "onset": ONSET, "host": 0, "place": 0, "slots": 1, "down": True,
                "per_switch": behind, "gives_up": 2 * MINUTE,
            },
        ),
        seed=1,
    )  # fmt: skip


class Receiver:
    """Takes every message; `got`: (channel, time of the storm, body)."""

    def __init__(self, clock) -> None:
        self.clock = clock
        self.url = ""
        self.got: list[tuple[str, float, dict[str, Any]]] = []

    def take(self, request):
        self.got.append((request.path.strip("/"), self.clock.now(), json.loads(request.body)))
        return Answer(status=204)

    def sent(self, channel, *, until):
        """Return the bodies of the messages of a channel until a time of the storm."""
        return [body for name, at, body in self.got if name == channel and at <= until]


@pytest.fixture
def clock():
    return SetClock(0.0)


@pytest.fixture
def receiver(clock):
    made = Receiver(clock)
    with served(made.take) as made.url:
        yield made


class Storm:
    """A pipeline, a store with two channels and what delivers; what was found in each second."""

    def __init__(self, url: str, receiver: str, clock: SetClock) -> None:
        self.store = IncidentDatabaseStore(url)
        for name in CHANNELS:
            secret = endpoints.new_secret()
            address = f"{receiver}/{name}"
            self.store.add_webhook(NotifiedEndpoint(name, address, secret, "standard"), 0.0)
        self.clock = clock
        self.deliverer = OutboxDeliverer(outbox=self.store, clock=clock)
        self.pipeline = DetectionPipeline()
        self.pipeline.watch = lambda window, found: self.found.update({window.now: len(found)})
        self.found: dict[float, int] = {}
        self.changes: list[tuple[float, str]] = []

    def play(self, recorded) -> None:
        def failed(stage, error):
            raise AssertionError(stage) from error

        schedule = EvaluationSchedule(
            self.pipeline, ScheduleHooks(changed=self.changed, failed=failed)
        )
        now = 0.0
        for at, what in recorded.batches(self.pipeline.table):
            now = max(now, at)
            batch = isinstance(what, MetricsBatch)
            schedule.apply(
                DecodedPayload(metrics=what) if batch else DecodedPayload(events=what), now
            )
            if now >= self.clock.at + 1.0:
                self.deliver(now)
        schedule.until(now)
        self.deliver(now)

    def changed(self, changes, now) -> None:
        self.store.commit(changes, now)
        self.changes += [(now, change.incident.id) for change in changes]
        self.deliver(now)

    def deliver(self, now) -> None:
        """Deliver what is due at a time of the storm, and wait for the receivers."""
        self.clock.at = max(now, self.clock.at)
        self.deliverer.run_once(self.clock.at)
        self.deliverer.settle()

    def findings(self, start: float, seconds: float = SECONDS) -> int:
        """Return how many findings there were in so many seconds from a time on."""
        return sum(count for at, count in self.found.items() if start <= at < start + seconds)

    def stop(self) -> None:
        self.deliverer.stop()
        self.store.close()


@pytest.fixture
def storm(receiver, clock, tmp_path):
    made = Storm(f"sqlite:///{tmp_path / 'rankscope.db'}", receiver.url, clock)
    yield made
    made.stop()


@pytest.mark.timeout(600)
def test_the_findings_of_one_switch_are_one_incident_and_two_messages(storm, receiver, clock):
    storm.play(recorded(behind=AT_ONCE, ends=50.0))
    for second in range(50, int(ONSET + SECONDS + MINUTE) + 1):  # what waits for others
        storm.deliver(EPOCH + second)
    assert max(map(storm.findings, storm.found)) >= FINDINGS
    one_incident_and_two_messages(storm, receiver, clock)


@pytest.mark.timeout(600)
def test_a_storm_that_lasts_the_whole_minute_is_one_incident_and_two_messages(
    storm, receiver, clock
):
    storm.play(recorded(behind=IN_A_MINUTE, ends=ONSET + SECONDS + MINUTE + 5.0))
    first = one_incident_and_two_messages(storm, receiver, clock)
    assert storm.findings(first, MINUTE) >= FINDINGS
    parts = [storm.findings(first + SECONDS * part) for part in range(int(MINUTE / SECONDS))]
    assert min(parts) >= FINDINGS / 10  # it does not let up


def one_incident_and_two_messages(storm, receiver, clock):
    """Hold a storm to what it must be, and return when its incident was opened."""
    (document,) = storm.store.incidents().items
    first = document["root_cause"]["hypotheses"][0]
    assert first["fault"] == "network.switch"
    assert first["entity"]["type"] == "switch"
    assert document["detected_at"] is not None
    opened = min(at for at, _ in storm.changes)
    assert EPOCH + ONSET <= opened <= EPOCH + ONSET + SECONDS
    assert clock.at >= opened + MINUTE
    for channel in CHANNELS:
        messages = receiver.sent(channel, until=opened + MINUTE)
        assert 1 <= len(messages) <= 2
        assert {document["id"]} == {body["data"]["id"] for body in messages}
        assert "incident.opened" == messages[0]["type"]
    return opened
