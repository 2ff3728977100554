"""The one pipeline, from the bytes on the wire to an incident."""

import functools
import json
import logging
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.checks import telemetry
from rankscope.checks.judging import JudgedCheck
from rankscope.collector.pipeline.pipeline import IDLE_SECONDS, DetectionPipeline
from rankscope.collector.windows import queries
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.contract import Detector
from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder, logs_json, logs_protobuf
from rankscope.vocabulary import checks
from rankscope.vocabulary.checks import CheckVerdict
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

START = 1_700_000_000.0
HOSTS = {"host-a": (0, 1), "host-b": (2, 3)}


@dataclass
class Job:
    """A job of two ranks on each of two hosts, one step a second, reported by two agents."""

    job: str = "run-1"
    seconds: int = 110
    broken_at: int = 60
    fault: str = ""
    wire: str = "protobuf"
    told_twice: bool = False
    _stopped: dict[int, int] = field(default_factory=dict)

    def said(self, now: int, host: str) -> tuple[list[Sample], list[Event]]:
        """Return what one agent says at a second."""
        rng = np.random.default_rng([now, len(host), HOSTS[host][0]])
        broken = self.fault and now >= self.broken_at
        samples: list[Sample] = []
        events: list[Event] = []

        def tell(name, value, rank, at=float(now), **pairs):
            where = attributes({"rank": rank, **pairs})
            samples.append(Sample(name, value, START + at, where))

        for rank in HOSTS[host]:
            stopped = broken and (
                (self.fault == "stuck") or (self.fault == "crash" and now > self.broken_at)
            )
            squeezed = broken and self.fault == "contention" and host == "host-b"
            own = rng.normal(0.5, 0.005) * (1.6 if squeezed else 1.0)
            slowest = 0.8 if broken and self.fault == "contention" else 0.5
            if not stopped:
                tell("training.step", now, rank)
                tell("training.step.duration", slowest + 0.2, rank)
                tell("training.compute.duration", own, rank)
                tell("training.comm.duration", slowest + 0.2 - own, rank)
                bad = broken and self.fault == "nan" and (rank == 1 or now > self.broken_at)
                tell("training.loss", np.nan if bad else rng.normal(2, 0.1), rank, scope="local")
            if now % 5 == 0 and not (stopped and self.fault == "crash"):
                pid, device = 1000 + rank, f"GPU-{rank}"
                info = {"pid": pid, "hw.id": device, "local_rank": rank % 2, "world_size": 4}
                tell("training.rank.info", 1, rank, **info)
                tell("training.progress.age", now - min(now, self.broken_at), rank)
                group = {"group": "dp:all"}
                launched = now if not stopped else self.broken_at - (rank == 2)
                tell("collective.enqueued", launched, rank, **group)
                tell("collective.completed", min(now, self.broken_at) - 1, rank, **group)
                waited = 0.05 * now + (0.6 * (now - self.broken_at) if squeezed else 0.0)
                tell("process.cpu.wait", waited, rank, pid=pid, role="trainer")
                sleeps = stopped and self.fault == "stuck" and rank == 2
                cpu = 0.01 if sleeps else 1.0
                tell("process.cpu.utilization", cpu, rank, pid=pid, role="trainer")
            if self.fault == "crash" and now == self.broken_at + (rank != 3):
                resource = TelemetryResource(host, self.job)
                how = {"rank": rank, "pid": 1000 + rank, "exit_code": 1}
                events.append(Event("process.exit", START + now, how, resource))
        return samples, events

    def play(self, pipeline: DetectionPipeline) -> list[IncidentChange]:
        """Tell it second by second; return every change."""
        decoder = MetricsDecoder(pipeline.table)
        changes: list[IncidentChange] = []
        for now in range(self.seconds):
            changes += pipeline.evaluate(START + now)
            for host in HOSTS:
                samples, events = self.said(now, host)
                resource = TelemetryResource(host, self.job, service="trainer")
                for _ in range(2 if self.told_twice else 1):
                    if self.wire == "json":
                        batch = decoder.json(encode.metrics_json([(resource, samples)]))
                        logs = logs_json(encode.logs_json([(resource, events)]))
                    else:
                        batch = decoder.protobuf(encode.metrics_request([(resource, samples)]))
                        logs = logs_protobuf(encode.logs_request([(resource, events)]))
                    pipeline.metrics(batch, START + now + 0.1)
                    pipeline.events(logs.events, START + now + 0.1)
        for now in range(self.seconds, self.seconds + 30):
            changes += pipeline.evaluate(START + now)
        return changes


def documents(pipeline):
    return [json.dumps(row.document(), allow_nan=False) for row in pipeline.incidents.values()]


FAULTS = {
    "contention": ("host.cpu_contention", "host", "host-b", [2, 3]),
    "stuck": ("software.stuck_process", "rank", "2", [2]),
    "nan": ("numerics.nan_rank", "rank", "1", [1]),
    "crash": ("software.crash", "rank", "3", [3]),
}


@pytest.fixture(scope="module")
def played():
    """Return a function that reports a fault once: the pipeline after it, and every change."""

    @functools.cache
    def play(fault):
        pipeline = DetectionPipeline()
        return pipeline, Job(fault=fault).play(pipeline)

    return play


def copied(pipeline):
    """Return a pipeline that has come as far, for a test that goes on with it."""
    again = pickle.loads(pickle.dumps(pipeline))  # noqa: S301  our own
    again.resume(DetectionPipeline())
    return again


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_becomes_one_incident_with_the_right_first_cause(fault, played, valid_incident):
    pipeline, changes = played(fault)
    (incident,) = pipeline.incidents.values()
    document = json.loads(documents(pipeline)[0])
    valid_incident(document)
    first = document["root_cause"]["hypotheses"][0]
    entity = first["entity"]
    assert FAULTS[fault] == (first["fault"], entity["type"], entity["id"], entity["ranks"])
    assert 59 <= incident.opened_at - START <= 61
    assert ["incident.opened"] == [c.kind for c in changes if c.kind == "incident.opened"]
    assert {} == pipeline.detector_failures


@pytest.mark.parametrize(
    ("fault", "seconds"), [("contention", 30), ("stuck", 16), ("nan", 2), ("crash", 2)]
)
def test_the_first_word_comes_soon(fault, seconds, played):
    """In the job's own time: five slow steps and a change of CPU wait, a hang, a step, an exit.

    Of a hang it is an observation at first.
    """
    _, changes = played(fault)
    assert changes[0].incident.timeline[0].at - (START + 60) <= seconds


@pytest.mark.parametrize("seconds", [3, 17, 110])
def test_a_healthy_job_whose_recording_simply_ends_raises_nothing(seconds):
    pipeline = DetectionPipeline()
    assert [] == Job(seconds=seconds).play(pipeline)
    assert {} == pipeline.detector_failures


@pytest.mark.parametrize(
    ("fault", "way"),
    [
        ("crash", {"wire": "json"}),
        ("nan", {"told_twice": True}),
        ("stuck", {}),
        *(
            pytest.param(fault, way, marks=pytest.mark.long)
            for fault, way in (
                *((fault, {}) for fault in ("contention", "nan", "crash")),
                *((fault, {"wire": "json"}) for fault in ("contention", "stuck", "nan")),
                *((fault, {"told_twice": True}) for fault in ("stuck", "crash")),
            )
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value) or "again",
)
def test_telling_it_again_in_json_or_twice_gives_the_same_bytes(fault, way, played):
    again = DetectionPipeline()
    Job(fault=fault, **way).play(again)
    assert documents(played(fault)[0]) == documents(again)


def test_two_jobs_are_judged_apart():
    pipeline = DetectionPipeline()
    healthy, broken = Job(job="calm"), Job(job="torn", fault="nan")
    decoder = MetricsDecoder(pipeline.table)
    for now in range(80):
        pipeline.evaluate(START + now)
        for job in (healthy, broken):
            for host in HOSTS:
                samples, _ = job.said(now, host)
                body = encode.metrics_request([(TelemetryResource(host, job.job), samples)])
                pipeline.metrics(decoder.protobuf(body), START + now)
    assert ["torn"] == [incident.job for incident in pipeline.incidents.values()]


def test_after_a_snapshot_the_detectors_are_those_of_the_new_start(played):
    """Settings may have changed meanwhile: what was found under the old ones is asked anew."""
    before, _ = played("contention")
    asked = [row.asked for row in before._evaluated.values()]
    assert all(asked)
    for started, kept in (
        (DetectionPipeline(), True),
        (DetectionPipeline(detectors=(StallsDetector(),)), False),
    ):
        resumed = pickle.loads(pickle.dumps(before))  # noqa: S301  our own
        resumed.resume(started)
        assert resumed.detection.selection is started.detection.selection
        assert kept == any(row.asked for row in resumed._evaluated.values())


class Counting(Detector):
    """Notes when it is evaluated."""

    kinds = ()

    def __init__(self, name: str, cadence: float) -> None:
        self.name, self.cadence_seconds = name, cadence
        self.at: list[float] = []

    def evaluate(self, window):
        self.at.append(window.now - START)
        return ()


def test_detectors_of_one_cadence_are_not_all_evaluated_in_the_same_second():
    """By their names, so that a replay does the same."""

    def seconds():
        counting = [Counting(f"detector-{number}", 30.0) for number in range(12)]
        Job(seconds=100).play(DetectionPipeline(detectors=counting))
        return [row.at for row in counting]

    rows = seconds()
    assert rows == seconds()
    assert len({tuple(row) for row in rows}) > 3
    for row in rows:
        gaps = np.diff(row)
        assert 30 <= gaps[0] < 60
        assert (gaps[1:-1] == 30).all()
        assert 30 <= gaps[-1] <= 45  # nothing is received any more


@pytest.mark.parametrize("fault", [pytest.param("contention", marks=pytest.mark.long), "nan"])
def test_what_is_not_asked_again_would_have_found_the_same(monkeypatch, fault, played):
    def found(pipeline):
        documents = [row.document() for row in pipeline.incidents.values()]
        return documents, pipeline.findings()

    shorter = found(played(fault)[0])
    monkeypatch.setattr("rankscope.collector.pipeline.detection._state", lambda _window: None)
    longer = DetectionPipeline()
    Job(fault=fault).play(longer)
    assert found(longer) == shorter
    assert shorter[0]


class Broken(Detector):
    name = "broken"
    kinds: tuple[str, ...] = ()

    def evaluate(self, window):
        raise ZeroDivisionError(window.job)


def test_a_defect_of_one_detector_is_counted_told_once_and_stops_no_other(caplog):
    pipeline = DetectionPipeline(detectors=(Broken(), *detectors()))
    with caplog.at_level(logging.ERROR):
        Job(fault="nan", seconds=70).play(pipeline)
    assert 1 == len(pipeline.incidents)
    assert {"broken": 100 - 1} == pipeline.detector_failures
    assert ["detector broken failed on job run-1"] == [row.getMessage() for row in caplog.records]


def test_a_job_that_nobody_has_heard_of_for_long_is_not_judged():
    pipeline = DetectionPipeline(detectors=(Broken(),))
    Job(seconds=10).play(pipeline)
    before = dict(pipeline.detector_failures)
    pipeline.evaluate(START + 11 + IDLE_SECONDS)
    assert before == pipeline.detector_failures


def test_a_job_with_an_open_incident_is_judged_however_silent(played):
    pipeline = copied(played("contention")[0])
    assert ["open"] == [row.status for row in pipeline.incidents.values()]
    (change,) = pipeline.evaluate(START + 2 * IDLE_SECONDS)
    assert "incident.resolved" == change.kind
    assert (change.incident.resolved_at or 0.0) - START < 110 + 60 + 1


def test_what_nobody_will_ask_for_again_is_forgotten():
    pipeline = DetectionPipeline()
    Job(seconds=10).play(pipeline)
    later = START + 13 * 3600
    pipeline.evaluate(later - later % 600)
    assert [] == queries.jobs(pipeline.windows)


def test_a_stretch_of_the_past_is_explained_on_demand(played):
    pipeline, _ = played("contention")
    cause = pipeline.explain("run-1", START + 60, START + 105)
    assert cause is not None
    assert "host.cpu_contention" == cause["hypotheses"][0]["fault"]
    assert None is pipeline.explain("run-1", START, START + 50), "nothing had happened yet"
    assert None is pipeline.explain("nobody", START, START + 105)


def test_ranks_that_stood_out_last_are_told_with_their_scores(played):
    pipeline, _ = played("contention")
    scores = pipeline.scores()
    assert {("run-1", "stragglers", 2), ("run-1", "stragglers", 3)} == {row[:3] for row in scores}
    assert all(score > 0 for *_, score in scores)


# Alerts of others


def _alert(at, status="firing", host="host-b", key="f1"):
    attributes = {"name": "NodeDiskFull", "status": status, "fingerprint": key, "text": "97% used"}
    return Event("alert", START + at, attributes, TelemetryResource(host))


class Alerted(DetectionPipeline):
    """A pipeline that also gets an alert about a host of the job, and its end."""

    def evaluate_jobs(self, now):
        for at, status in ((70, "firing"), (71, "firing"), (100, "resolved")):
            if now == START + at:
                self.events([_alert(min(at, 70) if status == "firing" else at, status)], now)
        yield from super().evaluate_jobs(now)


def test_alerts_of_others_stand_in_the_timeline_and_change_nothing_else(played):
    """Each once, and nobody is notified of them."""
    pipeline = Alerted()
    changes = Job(fault="stuck").play(pipeline)
    ((_, incident),) = pipeline.incidents.items()
    noted = [row.text for row in incident.timeline if row.kind == "alert"]
    assert [
        "alert NodeDiskFull on host-b fires since 2023-11-14T22:14:30.000Z: 97% used",
        "alert NodeDiskFull on host-b ended 2023-11-14T22:15:00.000Z: 97% used",
    ] == noted
    without, changes_without = played("stuck")
    ((_, other),) = without.incidents.items()
    assert other.root_cause == incident.root_cause
    assert sum(c.notify for c in changes_without) == sum(c.notify for c in changes)


def test_an_alert_about_a_job_or_host_that_is_not_known_opens_nothing():
    pipeline = DetectionPipeline()
    pipeline.events([_alert(1, host="nowhere")], START + 1)
    assert [] == pipeline.evaluate(START + 2)
    assert {} == dict(pipeline.windows.attempts)


def test_alerts_survive_a_snapshot():
    pipeline = DetectionPipeline()
    pipeline.events([_alert(1)], START + 1)
    again = pickle.loads(pickle.dumps(pipeline))  # noqa: S301  our own
    assert 1 == len(list(again.outside.notes("run-1", ["host-b"], START)))


# Active checks of nodes


class CheckedNode(DetectionPipeline):
    """A pipeline that also gets the result of a check of host-b, as its host sends it."""

    verdict: CheckVerdict = "slow"

    def evaluate_jobs(self, now):
        if now == START + 90:
            found = JudgedCheck("cpu", "cpu", 5.0, "By/s", self.verdict, "12% below 6 B/s")
            said = telemetry.events("host-b", now, [found], incident="ab12")
            body = encode.logs_json((one.resource, [one]) for one in said)
            self.events(logs_json(body).events, now)
        yield from super().evaluate_jobs(now)


class PassedNode(CheckedNode):
    verdict = "pass"


@pytest.mark.parametrize("made", [CheckedNode, PassedNode])
def test_a_check_of_a_node_is_evidence_and_stands_in_the_timeline(played, made):
    pipeline = made()
    Job(fault="contention").play(pipeline)
    ((_, incident),) = pipeline.incidents.items()
    without, _ = played("contention")
    ((_, other),) = without.incidents.items()

    first = incident.root_cause.hypotheses[0]
    assert "host.cpu_contention" == first.fault == other.root_cause.hypotheses[0].fault
    (row,) = [row for row in first.evidence if row.family == "active_check"]
    bad, passed = checks.catalogue()["cpu"].weights(first.fault)
    expected = bad if made is CheckedNode else passed
    assert expected == pytest.approx(row.weight)
    assert first.score == pytest.approx(other.root_cause.hypotheses[0].score + expected)
    assert [f"check cpu of cpu on host-b: {made.verdict}: 12% below 6 B/s"] == [
        moment.text for moment in incident.timeline if moment.kind == "check"
    ]
