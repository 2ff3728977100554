"""From telemetry to the incident document: the step time without the cause, and what it costs."""

import json

import numpy as np
import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_700_000_000.0
HOSTS = {"host-a": (0, 1), "host-b": (2, 3)}
SLOW_AT, END = 60, 180
OWN, EXCHANGE, FACTOR, SPREAD = 0.5, 0.2, 1.6, 0.005
HEALTHY = OWN + 1.03 * SPREAD + EXCHANGE
"""The slowest of four ranks is about one standard deviation above their mean."""
SLOW = FACTOR * (OWN + 0.56 * SPREAD) + EXCHANGE


def reported(now, host, *, phases=True):
    """Return what one agent reports at a second: host-b waits for its CPU from SLOW_AT on."""
    samples = []

    def add(name, value, rank, **pairs):
        labels = attributes({"rank": rank, **pairs})
        samples.append(Sample(name, value, START + now, labels))

    slow = now >= SLOW_AT
    work = np.random.default_rng(now).normal(OWN, SPREAD, 4)
    work[2:] *= FACTOR if slow else 1.0
    for rank in HOSTS[host]:
        add("training.step", now, rank)
        add("training.step.duration", work.max() + EXCHANGE, rank)
        if phases:
            add("training.compute.duration", work[rank], rank)
            add("training.comm.duration", work.max() + EXCHANGE - work[rank], rank)
        if now % 5 == 0:
            pid = 1000 + rank
            info = {"pid": pid, "hw.id": f"GPU-{rank}", "local_rank": rank % 2, "world_size": 4}
            add("training.rank.info", 1, rank, **info)
            add("training.progress.age", 0, rank)
            waited = 0.05 * now + (0.6 * (now - SLOW_AT) if slow and host == "host-b" else 0.0)
            add("process.cpu.wait", waited, rank, pid=pid, role="trainer")
    return samples


def document(*, phases):
    """Return the document of the only incident, as JSON has it."""
    pipeline = DetectionPipeline()
    decoder = MetricsDecoder(pipeline.table)
    for now in range(END):
        pipeline.evaluate(START + now)
        for host in HOSTS:
            samples = reported(now, host, phases=phases)
            body = encode.metrics_request([(TelemetryResource(host, "run-1"), samples)])
            pipeline.metrics(decoder.protobuf(body), START + now + 0.1)
    pipeline.evaluate(START + END)
    (incident,) = pipeline.incidents.values()
    return json.loads(json.dumps(incident.document()))


@pytest.fixture(scope="module")
def by_phases():
    return document(phases=True)


@pytest.fixture(scope="module")
def by_durations():
    return document(phases=False)


@pytest.mark.parametrize("basis", ["phases", "durations"])
def test_the_document_says_what_a_step_takes_without_its_cause(basis, request):
    found = request.getfixturevalue(f"by_{basis}")["impact"]["counterfactual"]
    assert found["basis"] == basis
    assert found["step_seconds"] == pytest.approx(SLOW, rel=0.01)
    assert found["without"]["step_seconds"] == pytest.approx(HEALTHY, rel=0.01)
    assert found["without"]["low"] <= HEALTHY <= found["without"]["high"]


def test_it_costs_a_share_of_four_ranks_since_the_onset(by_phases):
    impact = by_phases["impact"]
    found = impact["counterfactual"]
    share = 1 - HEALTHY / SLOW
    assert found["gpu_hours_an_hour"] == pytest.approx(4 * share, rel=0.05)
    lasted = found["gpu_hours_lost"] / found["gpu_hours_an_hour"] * 3600
    assert END - SLOW_AT - 40 <= lasted <= END - SLOW_AT
    assert found["gpu_hours_lost"] == pytest.approx(impact["gpu_hours_lost"], rel=0.4)
