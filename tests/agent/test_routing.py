import selectors
from types import SimpleNamespace

import pytest

from rankscope.agent.attribution import Attribution
from rankscope.agent.device_faults import FaultTracker
from rankscope.agent.exits import ExitWatch
from rankscope.agent.health import Health
from rankscope.agent.inbox import Received
from rankscope.agent.latest import Latest
from rankscope.agent.names import Names
from rankscope.agent.routing import Routing
from rankscope.agent.trainers import Trainers
from rankscope.vocabulary.datagram import Datagram
from rankscope.vocabulary.samples import Sample, Scalar, attributes

READER = SimpleNamespace(name="gpu_processes", period=5.0)


@pytest.fixture
def parts():
    """Return the routing of an agent that pushes nothing, and what it works with."""
    health, attribution = Health(), Attribution()
    trainers, latest = (
        Trainers(health=health, started_at=lambda pid: None),
        Latest(period_seconds=5.0),
    )
    selector = selectors.DefaultSelector()
    exits = ExitWatch(selector=selector, pidfds=False)
    routing = Routing(
        names=Names(host="n"),
        trainers=trainers,
        latest=latest,
        exits=exits,
        outgoing=None,
        health=health,
        attribution=attribution,
        fault_tracker=FaultTracker(boot_id="b", now=0.0),
    )
    yield SimpleNamespace(
        routing=routing, attribution=attribution, trainers=trainers, latest=latest
    )
    exits.close()
    selector.close()


def test_a_device_gets_the_rank_placed_on_it_and_ranks_long_gone_are_forgotten(parts):
    for number in range(100):
        now = 1000.0 + 100.0 * number
        pid, rank = 1_000_000 + number, number % 8
        said = Datagram(f"job-{number}", 0, rank, pid)
        parts.trainers.receive(Received(said, pid, "unix:"), now)
        device: dict[str, Scalar] = {"hw.id": "GPU-1", "gpu": 0, "hw.vendor": "nvidia"}
        held = Sample("hw.gpu.process.memory", 1.0, now, attributes({**device, "pid": pid}))
        other = Sample(  # a process of nobody's, beside
            "hw.gpu.process.memory", 1.0, now, attributes({**device, "pid": 5_000_000 + number})
        )
        parts.attribution.observe([held])
        facts = parts.attribution.facts(parts.trainers.everyone(), now)
        parts.attribution.update(facts, given=(), memberships={}, names={}, jobs={})
        parts.routing.route(READER, [other], now)
        (shown,) = [row for row in parts.latest.series(now) if row[1] == other.metric]
        assert ("rank", rank) in shown[2]
        (ended,) = parts.trainers.everyone()
        parts.trainers.forget(ended, now)
    assert len(parts.routing._with_rank) < 5
