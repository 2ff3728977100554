"""Whole paths: a running agent with processes of this machine, and dumps of a real gloo job."""

import json
import os
import re
import subprocess
import sys

import pytest
from tests.collector.artefacts.running import leave_dumps

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.readers.flight_recorder import FlightRecorderReader
from rankscope.agent.settings import AgentSettings
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Event, TelemetryResource


@pytest.fixture
def process():
    """Return a process that a launcher gave rank 0 of two, and that does nothing."""
    environ = {"TORCHELASTIC_RUN_ID": "run-7", "TORCHELASTIC_RESTART_COUNT": "1", "RANK": "0",
               "LOCAL_RANK": "0", "WORLD_SIZE": "2"}  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], env=environ, stdin=subprocess.PIPE
    ) as started:
        yield started
        started.kill()


def test_a_running_agent_sends_what_nccl_answers_about_a_process_of_this_machine(
    run_agent, intake, until, ras_service, process
):
    where = {"host": "10.0.0.1", "cuda_dev": 0, "nvml_dev": 0}
    rows = [
        where | {"rank": rank, "pid": pid, "collective_counts": {"AllReduce": 7 - rank}}
        for rank, pid in enumerate((process.pid, 1))
    ]
    ras_service.answer = lambda: {
        "communicators_count": 1, "communicators": [{"hash": "0xab", "size": 2, "ranks": rows}]
    }  # fmt: skip
    address = f"127.0.0.1:{ras_service.port}"
    run_agent(
        push={"endpoint": intake.endpoint},
        ras={"ask": "leader", "address": address, "period_seconds": 1.0},
    )
    found = until(lambda: sorted_by_rank(intake.points("collective.enqueued"), 2))
    (here, _, _, mine), (there, labels, _, other) = found
    assert ("run-7", 1) == (here["rankscope.job.id"], here["rankscope.job.attempt"])
    assert (7, 6) == (mine, other)
    assert here["host.name"]
    assert "host.name" not in there
    assert {"rank": 1, "group": "world:ab", "source": "ras"} == labels


def sorted_by_rank(points, count):
    newest = {point[1]["rank"]: point for point in points}
    return [newest[rank] for rank in sorted(newest)] if len(newest) == count else []


@pytest.mark.programs
def test_dumps_of_a_real_gloo_job_name_the_rank_that_did_not_come(tmp_path, delivered):
    leave_dumps(tmp_path, "absent", 2)
    dumps = sorted(tmp_path.glob("fr_*"))
    at = max(path.stat().st_mtime for path in dumps) + 200  # as if the time-out had been awaited
    for path in dumps:
        os.utime(path, (at, at))
    document = explained(tmp_path, at, delivered)
    first = document["root_cause"]["hypotheses"][0]
    assert ("software.stuck_process", [2]) == (first["fault"], first["entity"]["ranks"])


@pytest.mark.parametrize("name", ["gpu_error_1st", "lock_gil_1st"])
def test_dumps_of_real_hangs_name_the_culprits_and_their_side_live(name, real_data, delivered):
    path = real_data(f"flight_recorder/{name}")
    logged = (path / "fault_injection.log").read_text()
    culprits = {int(rank) for rank in re.findall(r"Rank (\d+),", logged)}
    at = max(one.stat().st_mtime for one in path.iterdir())
    document = explained(path, at, delivered)
    first = document["root_cause"]["hypotheses"][: len(culprits)]
    assert culprits == {rank for one in first for rank in one["entity"]["ranks"]}
    side = {"GPU_ERROR": "completed", "LOCK_GIL": "enqueued"}[logged.rsplit(" ", 1)[1].strip()]
    assert f"has {side}" in json.dumps(first[0]["evidence"])


def explained(folder, at, delivered):
    """Return the incident that dumps in a folder, the newest written at `at`, lead to."""
    chosen = AgentSettings.model_validate(
        {"flight_recorder": {"folders": [{"path": str(folder), "job": "run-7"}]}}
    )
    reader = FlightRecorderReader(settings=chosen.flight_recorder, deliver=delivered,
                            still_since=lambda of: None, health=delivered.health, period=5.0,
                            processes=RankProcesses(folder / "proc"))  # fmt: skip
    reader.turn(at + 2)
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)
    for batch in delivered.batches:
        resource = TelemetryResource("host-a", batch.job)
        sent = decoder.protobuf(encode.metrics_request([(resource, list(batch.samples))]))
        pipeline.metrics(sent, at + 3)
        events = [Event(one.name, one.at, one.attributes, resource) for one in batch.events]
        pipeline.events(events, at + 3)
    for second in range(4, 12):
        pipeline.evaluate(at + second)
    (incident,) = pipeline.incidents.values()
    return incident.document()
