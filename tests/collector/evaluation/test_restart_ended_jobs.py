"""A restart over the journal of jobs that went NaN and ended works as much as its entries ask."""

import math
from collections import Counter

import pytest
from structlog.testing import capture_logs
from tests.examples import LONG

from rankscope.collector.evaluation import restart
from rankscope.collector.evaluation.rereading import RereadPlan
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.contract import Detector
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

START = 1_700_000_000.0
ENDED = [f"ended-{number}" for number in range(4 if LONG else 2)]
SECONDS, NAN_FROM, LIVE_SECONDS = (160, 40, 60) if LONG else (80, 40, 30)
RANKS = range(4)
MORE = [f"hw.network.io|{number}" for number in range(50 if LONG else 10)]
"""Further series of each rank, so that the journal is as large as that of real jobs."""


class Counting(Detector):
    """Counts how often it is asked about each job, and the seconds in which it is."""

    name = "counting"
    kinds: tuple[str, ...] = ()

    def __init__(self):
        self.jobs: Counter[str] = Counter()
        self.seconds: set[float] = set()

    def evaluate(self, window):
        self.jobs[window.job] += 1
        self.seconds.add(window.now)
        return ()


def second_of(job, at, step, *, nan):
    """Return the entries of one second of a job, which steps once in it."""
    samples, events = [], []
    resource = TelemetryResource(f"host-of-{job}", job=job, attempt=0)
    for rank in RANKS:
        pairs = attributes({"rank": rank})
        rows = [("training.step", step), ("training.step.duration", 1.0)]
        rows += [("training.loss", math.nan if nan else 2.0), ("training.progress.age", 0.1)]
        samples += [Sample(name, value, at, pairs) for name, value in rows]
        samples += [
            Sample("hw.network.io", float(step), at, attributes({"rank": rank, "device": device}))
            for device in MORE
        ]
        if nan:
            what = {"rank": rank, "step": step, "what": "loss", "value": "nan"}
            events.append(Event("training.numeric", at, what, resource))
    bodies = [(PayloadKind.METRICS_PROTOBUF, encode.metrics_request([(resource, samples)]))]
    if events:
        bodies.append((PayloadKind.LOGS_PROTOBUF, encode.logs_request([(resource, events)])))
    return bodies


@pytest.fixture
def journal_of_ended_jobs(memory_journal):
    """Fill a journal, of 8 MB in the long target: jobs that went NaN and ended, then a live one."""
    seconds = [
        (START + second, job, NAN_FROM <= second) for second in range(SECONDS) for job in ENDED
    ]
    seconds += [(START + SECONDS + second, "live", False) for second in range(LIVE_SECONDS)]
    at_ns = 0
    for at, job, nan in seconds:
        for kind, body in second_of(job, at, int(at - START), nan=nan):
            at_ns = max(at_ns + 1_000_000, int((at + 0.1) * 1e9))
            memory_journal.entries.append(JournalEntry(kind, at_ns, body))
    return memory_journal


def test_a_restart_after_jobs_that_went_nan_and_ended_works_as_much_as_its_entries_ask(
    new_stages, journal_of_ended_jobs, clock, monkeypatch
):
    entries = len(journal_of_ended_jobs.entries)
    size = sum(len(entry.body) for entry in journal_of_ended_jobs.entries)
    assert size > 8_000_000 or not LONG
    clock.at = journal_of_ended_jobs.entries[-1].at + 1
    counted = Counting()
    pipeline = DetectionPipeline(detectors=(*detectors(), counted))
    monkeypatch.setattr(restart, "_PROGRESS_SECONDS", 0.0)
    stages = new_stages(pipeline=pipeline, rereading=RereadPlan(seconds=lambda _: 1200.0))
    with capture_logs() as lines:
        stages.recover()
    assert pipeline.incidents  # of the NaN

    # Progress is in the log, down to the end.
    progress = [line for line in lines if line["event"] == "reading the journal"]
    assert len(progress) == entries
    assert progress[-1]["seconds_left"] == 0
    [done] = [line for line in lines if line["event"] == "evaluation follows the intake"]
    assert done["journal_entries_read"] == entries

    # No second twice, and none of a job that nothing was received of.
    assert len(counted.seconds) <= SECONDS + LIVE_SECONDS + 1
    assert counted.jobs["live"] <= LIVE_SECONDS
    for job in ENDED:
        assert 0 < counted.jobs[job] <= SECONDS + 1

    # From then on detectors look at the live job, and no more at those that ended.
    counted.jobs.clear()
    for second in range(LIVE_SECONDS):
        at = START + SECONDS + LIVE_SECONDS + 1 + second
        clock.at = at + 0.1
        for kind, body in second_of("live", at, int(at - START), nan=False):
            stages.submit(Payload(kind, body))
        stages.step()
    assert 0 < counted.jobs["live"] <= LIVE_SECONDS + 1
    assert [counted.jobs[job] for job in ENDED] == [0] * len(ENDED)
