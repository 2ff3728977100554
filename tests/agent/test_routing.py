import selectors
from types import SimpleNamespace

import pytest

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.device_faults import FaultTracker
from rankscope.agent.exits import ExitWatch
from rankscope.agent.health import AgentHealth
from rankscope.agent.inbox import ReceivedDatagram
from rankscope.agent.latest import LatestValues
from rankscope.agent.names import NodeNames
from rankscope.agent.rank_processes import RankProcess
from rankscope.agent.routing import TelemetryRouter
from rankscope.agent.trainers import TrainerRegister
from rankscope.agent.training_logs import LaunchedProcesses, LogBatch
from rankscope.vocabulary.datagram import ProbeDatagram
from rankscope.vocabulary.samples import Sample, Scalar, attributes

READER = SimpleNamespace(name="gpu_processes", period=5.0)


@pytest.fixture
def parts():
    """Return the routing of an agent that pushes nothing, and what it works with."""
    health, attribution = AgentHealth(), DeviceAttribution()
    trainers, latest = (
        TrainerRegister(health=health, started_at=lambda pid: None),
        LatestValues(period_seconds=5.0),
    )
    selector = selectors.DefaultSelector()
    exits = ExitWatch(selector=selector, pidfds=False)
    routing = TelemetryRouter(
        names=NodeNames(host="n"),
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


def test_a_device_gets_the_rank_placed_on_it_now(parts):
    for number in range(100):
        now = 1000.0 + 100.0 * number
        pid, rank = 1_000_000 + number, number % 8
        said = ProbeDatagram(f"job-{number}", 0, rank, pid)
        parts.trainers.receive(ReceivedDatagram(said, pid, "unix:"), now)
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


PID = 7_000_000
LAUNCHED_RANK = RankProcess("job", None, rank=3, local_rank=1, world_size=8, pid=PID, own_pid=PID)


def info(parts):
    return [row[2] for row in parts.latest.series(1000.0) if row[1] == "training.rank.info"]


def test_a_rank_without_a_probe_is_placed_by_its_process_and_shown_with_what_its_log_reports(parts):
    parts.routing.adopt(LaunchedProcesses((LAUNCHED_RANK,)), 1000.0)
    assert {"rank": 3, "local_rank": 1, "world_size": 8, "pid": PID, "source": "log"} == dict(
        *info(parts)
    )
    pairs = attributes({"rank": 3, "source": "log"})
    losses = [Sample("training.loss", 2.0 + step, 1000.0 + step, pairs) for step in range(3)]
    parts.routing.report(LogBatch("job", None, losses, []), 1000.0)
    assert [4.0] == [row[3] for row in parts.latest.series(1000.0) if row[1] == "training.loss"]
    device = attributes({"pid": PID})
    assert 3 == parts.trainers.owner(Sample("process.memory.usage", 1.0, 1000.0, device)).rank


def test_a_probe_that_reports_is_not_overruled_by_a_look_at_its_process(parts):
    parts.routing.adopt(LaunchedProcesses((LAUNCHED_RANK,)), 1000.0)
    said = ProbeDatagram("job", None, 4, PID)  # as torch's process group corrected it
    parts.routing.receive(ReceivedDatagram(said, PID, "unix:"), 1001.0)
    parts.routing.adopt(LaunchedProcesses((LAUNCHED_RANK,)), 1002.0)
    assert [(4, True)] == [(one.rank, one.probed) for one in parts.trainers.everyone()]


def test_what_is_read_of_a_process_that_is_only_claimed_is_claimed(parts):
    parts.trainers._doubt_of = lambda received: "environment" if received.pid == 200 else ""
    for pid in (100, 200):
        said = ProbeDatagram("job", 0, 0, pid)
        parts.trainers.receive(ReceivedDatagram(said, pid, "unix:"), 1000.0)
    held = [
        Sample("process.memory.usage", 1.0, 1000.0, attributes({"rank": 0, "pid": pid}))
        for pid in (100, 200)
    ]
    parts.routing.route(READER, held, 1000.0)
    shown = [dict(pairs) for _, name, pairs, _ in parts.latest.series(1000.0) if "usage" in name]
    assert [None, "claimed"] == [pairs.get("quality") for pairs in shown]


def test_ranks_that_are_only_claimed_come_last_on_the_page(parts):
    parts.trainers._doubt_of = lambda received: "environment" if received.pid == 200 else ""
    for pid, value in ((100, 1.0), (200, 2.0)):
        step = Sample("training.step", value, 1000.0, (("rank", 0),))
        said = ProbeDatagram("job", pid, 0, pid, samples=(step,))
        parts.routing.receive(ReceivedDatagram(said, pid, "unix:"), 1000.0 + value)
    steps = [value for _, name, _, value in parts.latest.series(1003.0) if name == "training.step"]
    assert [1.0, 2.0] == steps
