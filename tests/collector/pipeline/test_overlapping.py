"""Two faults of one job at once, from bytes to incidents: what they lose together counts once."""

import json
import pickle

import numpy as np
import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_700_000_000.0
HOSTS = {"host-a": (0, 1), "host-b": (2, 3)}
SLOW_AT, NAN_AT, END = 60, 100, 150
"""One host's processes wait for their CPU; then rank 1 calculates NaN, and so do all."""


def said(now, host):
    """Return what one agent reports at a second: a step of every rank, and what they wait for."""
    drawn = np.random.default_rng([now, HOSTS[host][0]])
    samples = []

    def tell(name, value, rank, **pairs):
        labels = attributes({"rank": rank, **pairs})
        samples.append(Sample(name, value, START + now, labels))

    slow = now >= SLOW_AT
    for rank in HOSTS[host]:
        squeezed = slow and host == "host-b"
        own, step = drawn.normal(0.5, 0.005) * (1.6 if squeezed else 1.0), 1.0 if slow else 0.7
        bad = now >= NAN_AT and (rank == 1 or now > NAN_AT)
        tell("training.step", now, rank)
        tell("training.step.duration", step, rank)
        tell("training.compute.duration", own, rank)
        tell("training.comm.duration", step - own, rank)
        tell("training.loss", np.nan if bad else drawn.normal(2, 0.1), rank, scope="local")
        if now % 5 == 0:
            pid = 1000 + rank
            info = {"pid": pid, "hw.id": f"GPU-{rank}", "local_rank": rank % 2, "world_size": 4}
            tell("training.rank.info", 1, rank, **info)
            tell("training.progress.age", 0, rank)
            waited = 0.05 * now + (0.6 * (now - SLOW_AT) if squeezed else 0.0)
            tell("process.cpu.wait", waited, rank, pid=pid, role="trainer")
    return samples


def played(*, restarted_at=None):
    """Return the pipeline after all of it; it may go on from a snapshot."""
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)
    for now in range(END):
        pipeline.evaluate(START + now)
        if now == restarted_at:
            before, pipeline = pipeline, pickle.loads(pickle.dumps(pipeline))  # noqa: S301  our own
            pipeline.resume(before)
            decoder = MetricsDecoder(pipeline.table)
        for host in HOSTS:
            body = encode.metrics_request([(TelemetryResource(host, "run-1"), said(now, host))])
            pipeline.metrics(decoder.protobuf(body), START + now + 0.1)
    pipeline.evaluate(START + END)
    return pipeline


@pytest.fixture(scope="module")
def pipeline():
    return played()


def test_each_fault_has_an_incident_and_together_they_lose_no_more_than_ran(pipeline):
    """40 s of steps that take 1.0 in the place of 0.7; what follows is worth nothing.

    A document says what was lost up to its last change.
    """
    slow, worthless = (
        next(
            row for row in pipeline.incidents.values() if row.root_cause.hypotheses[0].fault == one
        )
        for one in ("host.cpu_contention", "numerics.nan_rank")
    )
    assert 2 == len(pipeline.incidents)
    taken = (slow.impact.gpu_seconds_lost, worthless.impact.gpu_seconds_lost)
    lasted = worthless.updated_at - START - NAN_AT
    assert lasted > 30
    assert taken == pytest.approx((4 * (NAN_AT - SLOW_AT) * 0.3, 4 * lasted), rel=0.15)
    assert sum(taken) <= 4 * (END - SLOW_AT + 1)


def test_at_any_moment_all_incidents_together_lose_at_most_the_ranks(pipeline):
    (now,) = pipeline.tracker.losses.now.values()
    assert sum(gpus for _, gpus in now.values()) == pytest.approx(4.0)


def test_a_snapshot_in_the_middle_changes_no_figure(pipeline):
    again = played(restarted_at=(SLOW_AT + END) // 2)

    def documents(one):
        return [json.dumps(row.document()) for row in one.incidents.values()]

    assert documents(pipeline) == documents(again)
