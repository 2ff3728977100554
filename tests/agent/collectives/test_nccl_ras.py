"""The reader of NCCL's RAS service against a double that speaks its protocol on a real socket."""

import json

import pytest

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.readers.nccl_ras import NcclRas
from rankscope.agent.settings import AgentSettings
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

HOSTS = {0: "10.0.0.1", 1: "10.0.0.1", 2: "10.0.0.2", 3: "10.0.0.2"}


def answer(counts, *, missing=(), name="0x27a079b828ff1a75", first_pid=1000, kinds=None):
    def row(rank):
        return {"rank": rank, "host": HOSTS[rank], "pid": first_pid + rank, "cuda_dev": rank % 2,
                "nvml_dev": rank % 2}  # fmt: skip

    reported = [
        row(rank) | {"status": {"init_state": 0}, "collective_counts": (kinds or {}).get(
            rank, {"AllReduce": count, "AllGather": 0})}
        for rank, count in counts.items()
    ]  # fmt: skip
    status = {"unresponsive": True, "considered_dead": False}
    return {
        "nccl_version": "2.28.7", "communicators_count": 1,
        "communicators": [{
            "hash": name, "size": len(counts) + len(missing), "ranks_count": len(counts),
            "missing_ranks_count": len(missing), "ranks": reported,
            "missing_ranks": [row(rank) | {"status": status} for rank in missing],
        }],
    }  # fmt: skip


TEXT = """NCCL version 2.24.3 compiled with CUDA 12.7
CUDA runtime version 12070, driver version 12070

Job summary
===========

Communicators... (0.00s)
=============
"""
UNEQUAL = """
Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  3 ranks have launched up to operation 240
  1 ranks have launched up to operation 239
  Rank 3 -- GPU 1 managed by process 1003 on node 10.0.0.2
"""


@pytest.fixture
def reader(ras_service, ranks, delivered):
    """Return a function that makes a reader whose processes are those of `ranks`."""

    def make(**keys):
        chosen = AgentSettings.model_validate(
            {"ras": {"address": f"127.0.0.1:{ras_service.port}", "timeout_seconds": 2.0} | keys}
        )
        return NcclRas(settings=chosen.ras, deliver=delivered, health=delivered.health,
                       period=5.0, processes=RankProcesses(ranks.proc))  # fmt: skip

    return make


def failures(delivered):
    return {
        reason: count
        for measure, values in delivered.health.everything(0.0)
        if measure.name == "rankscope_agent_collective_source_failures_total"
        for (_, reason), count in values.items()
    }


def test_the_agent_with_rank_0_reports_the_launches_of_the_whole_job(
    ras_service, ranks, reader, delivered
):
    for rank in (0, 1):
        ranks.add(rank)
    ras_service.answer = lambda: answer({0: 10, 1: 10, 2: 10, 3: 9})
    reader().turn(100.0)
    assert {0: 10, 1: 10} == delivered.values("collective.enqueued", host=None)
    assert {2: 10, 3: 9} == delivered.values("collective.enqueued", host="")
    assert {"0-3": 1.0} == delivered.values("collective.group.info", "ranks")
    assert {"world:27a079b828ff1a75": 9} == delivered.values("collective.enqueued", "group", "")
    assert [("run-7", 0)] * 2 == [(batch.job, batch.attempt) for batch in delivered.batches]
    expected = ["CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json", "VERBOSE STATUS"]
    assert [expected] == ras_service.asked


def test_an_agent_without_rank_0_does_not_ask(ras_service, ranks, reader):
    ranks.add(2)
    one = reader()
    one.turn(100.0)
    assert not ras_service.asked
    assert (True, "no process of rank 0 whose environment may be read runs here") == one.supported()


def test_every_agent_asks_where_that_is_set(ras_service, ranks, reader, delivered):
    ranks.add(2)
    ras_service.answer = lambda: answer({0: 10, 1: 10, 2: 10, 3: 9})
    reader(ask="all").turn(100.0)
    assert {2: 10} == delivered.values("collective.enqueued", host=None)


def test_switched_off_it_says_so(ranks, reader):
    ranks.add(0)
    assert (False, "ras.ask is off") == reader(ask="off").supported()


def test_pids_are_those_that_processes_have_in_their_own_namespace(
    ras_service, ranks, reader, delivered
):
    ranks.add(0, pid=50_000, own_pid=7)
    ranks.add(1, pid=50_001, own_pid=8)
    ras_service.answer = lambda: answer({0: 5, 1: 5, 2: 5, 3: 5}, first_pid=7)
    reader().turn(100.0)
    assert {0: 5, 1: 5} == delivered.values("collective.enqueued", host=None)


def test_an_answer_about_another_job_is_refused(ras_service, ranks, reader, delivered):
    ranks.add(0)
    ras_service.answer = lambda: answer({0: 5, 1: 5, 2: 5, 3: 5}, first_pid=700)
    reader().turn(100.0)
    assert not delivered.batches
    assert {"unknown_job": 1} == failures(delivered)


def test_a_rank_that_does_not_answer_twice_is_an_event_once(ras_service, ranks, reader, delivered):
    ranks.add(0)
    ras_service.answer = lambda: answer({0: 5, 1: 5, 2: 5}, missing=[3])
    one = reader()
    one.turn(100.0)
    assert [] == delivered.events()
    one.turn(105.0)
    one.turn(110.0)
    (event,) = delivered.events()
    assert (3, "nccl.ras_missing", "root") == (event["rank"], event["signature"], event["role"])
    assert "process 1003 on 10.0.0.2" in event["text"]


def test_kinds_are_reported_where_they_differ_in_two_answers(ras_service, ranks, reader, delivered):
    ranks.add(0)
    same = {"AllReduce": 4, "AllGather": 1}
    kinds = {0: same, 1: same, 2: same, 3: {"AllReduce": 5, "AllGather": 0}}
    ras_service.answer = lambda: answer(dict.fromkeys(range(4), 0), kinds=kinds)
    one = reader()
    one.turn(100.0)
    assert {} == delivered.values("collective.launches")
    one.turn(105.0)
    assert {0: 1, 1: 1, 2: 1, 3: 0} == delivered.values("collective.launches")


@pytest.mark.parametrize("mode", ["text", "hangup"])
def test_older_versions_are_asked_for_text(mode, ras_service, ranks, reader, delivered):
    ranks.add(0)
    ras_service.mode, ras_service.text = mode, TEXT
    one = reader()
    one.turn(100.0)
    assert not delivered.batches
    ras_service.text = TEXT + UNEQUAL
    one.turn(105.0)
    assert {0: 240, 1: 240, 2: 240, 3: 239} == delivered.values("collective.enqueued")
    assert {} == failures(delivered)


@pytest.mark.parametrize(
    ("mode", "reason"), [("half", "torn"), ("garbage", "protocol"), ("mute", "timeout")]
)
def test_what_is_no_whole_answer_is_counted_and_asked_again(
    mode, reason, ras_service, ranks, reader, delivered
):
    ranks.add(0)
    ras_service.answer = lambda: answer({0: 5, 1: 5, 2: 5, 3: 5})
    ras_service.mode = mode
    one = reader(timeout_seconds=1.0)
    one.turn(100.0)
    assert not delivered.batches
    assert {reason: 1} == failures(delivered)
    ras_service.mode = "json"
    one.turn(105.0)
    assert delivered.values("collective.enqueued")


def test_an_answer_beyond_the_bound_is_refused(ras_service, ranks, reader, delivered):
    ranks.add(0)
    ras_service.answer = lambda: answer({0: 5}) | {"padding": "x" * 8192}
    reader(max_bytes=4096).turn(100.0)
    assert {"too_large": 1} == failures(delivered)


def test_a_service_that_was_never_there_is_no_failure(ranks, delivered, reader):
    ranks.add(0)
    one = reader(address="127.0.0.1:1")
    one.turn(100.0)
    assert {} == failures(delivered)
    assert (True, "asks 127.0.0.1:1; nobody listens on 127.0.0.1:1") == one.supported()


def test_a_tenant_cannot_send_the_agent_to_another_machine(ranks, delivered):
    ranks.add(0, NCCL_RAS_ADDR="192.0.2.7:28028")
    settings = AgentSettings.model_validate({}).ras
    one = NcclRas(settings=settings, deliver=delivered, health=delivered.health, period=5.0,
                  processes=RankProcesses(ranks.proc))  # fmt: skip
    assert (True, "asks localhost:28028") == one.supported()
    ranks.add(1, NCCL_RAS_ADDR="localhost:9")
    assert (
        "localhost:9"
        in NcclRas(
            settings=settings,
            deliver=delivered,
            health=delivered.health,
            period=5.0,
            processes=RankProcesses(ranks.proc),
        ).supported()[1]
    )


START = 1_700_000_000.0


def test_a_rank_that_stops_launching_on_another_host_becomes_an_incident(
    ras_service, ranks, delivered, reader, valid_incident
):
    """Rank 3 runs where no agent does: its counts come from the answer to the agent of rank 0."""
    for rank in (0, 1):
        ranks.add(rank)
    now = [0]

    def counts():
        steps = min(now[0], 60)
        stopped = {3: 4 * steps - 1} if now[0] >= 60 else {}
        return answer(dict.fromkeys(range(4), 4 * steps) | stopped)

    ras_service.answer = counts
    one = reader()
    one._now = lambda: START + now[0]
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)

    def send(resource, samples):
        batch = decoder.protobuf(encode.metrics_request([(resource, samples)]))
        pipeline.metrics(batch, START + now[0] + 0.1)

    opened = None
    for second in range(110):
        now[0] = second
        changes = pipeline.evaluate(START + second)
        opened = opened or next(
            (second for change in changes if change.kind == "incident.opened"), None
        )
        if second <= 60:
            labels = attributes({"rank": 0, "source": "log"})
            steps = [("training.step", float(second)), ("training.step.duration", 1.0)]
            send(
                TelemetryResource("host-a", "run-7"),
                [Sample(*s, START + second, labels) for s in steps],
            )
        if second % 5 == 0:
            delivered.batches.clear()
            one.turn(START + second)
            for batch in delivered.batches:
                host = "host-a" if batch.host is None else batch.host
                send(TelemetryResource(host, batch.job), list(batch.samples))
    (incident,) = pipeline.incidents.values()
    document = incident.document()
    valid_incident(json.loads(json.dumps(document)))
    first = document["root_cause"]["hypotheses"][0]
    assert [3] == first["entity"]["ranks"]
    assert "rank 3 has enqueued 239 collectives" in json.dumps(document)
    assert opened is not None
    assert opened <= 80
