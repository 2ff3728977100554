"""Recordings are real OTLP, in the vocabulary's words, and the same for the same seed."""

import gzip
import itertools
import json

import numpy as np
import pytest
from tests.lab import vocabulary

from rankscope.formats.otlp import decode, encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab import recordings
from rankscope.lab.simulator import faults, recording, scenarios
from rankscope.lab.simulator.lines import DeliveryLines
from rankscope.lab.simulator.series import SimulatedSeries
from rankscope.lab.simulator.shape import EPOCH, ScenarioError
from rankscope.vocabulary import faults as fault_ids
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

HEALTHY = [n for n, row in scenarios.catalogue().items() if not row.fault and row.seconds <= 400]
FAULTY = [name for name, row in scenarios.catalogue().items() if row.fault]
SOME = 8
"""One in so many scenarios with a fault is simulated each time, and all in the long target."""


@pytest.mark.parametrize(
    "name",
    [
        *HEALTHY,
        *FAULTY[::SOME],
        *(
            pytest.param(name, marks=pytest.mark.long)
            for number, name in enumerate(FAULTY)
            if number % SOME
        ),
    ],
)
def test_every_scenario_says_only_what_the_vocabulary_knows_and_the_truth_what_the_contract_allows(
    name,
):
    found = recording.simulate(scenarios.named(name), 3)
    assert found.series
    vocabulary.hold_to_it(found)
    if name in FAULTY:
        assert found.truth is not None
        assert found.truth.entity.type in fault_ids.catalogue()[Fault(found.truth.fault)].entities
        assert found.truth.entity.ranks


@pytest.mark.parametrize(
    "name",
    [
        "crash",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("cpu_contention", "nan_rank_recovers")),
    ],
)
def test_lines_decode_to_what_was_simulated(name):
    found = recording.simulate(scenarios.named(name), 5)
    table = SeriesTable()
    decoder = decode.MetricsDecoder(table)
    points = said = 0
    for line in found.lines():
        if line.startswith('{"resourceLogs"'):
            logs = decode.logs_json(line)
            said += len(logs.events)
            assert logs.rejected == 0, logs.reason
        else:
            batch = decoder.json(line)
            points += len(batch.columns)
            assert batch.rejected == 0, batch.reason
    assert points > 0.98 * found.samples
    assert said == len(found.sayings)


def test_lines_are_what_the_encoder_itself_would_write():
    rng = np.random.default_rng(1)
    node = TelemetryResource(
        "gpu-00", None, 0, "lab", "rankscope-agent", (("network.switch", "leaf-0"),)
    )
    job = TelemetryResource("gpu-00", "a job", 3, "lab", "rankscope-agent")
    named = attributes({"rank": 3, "quality": "exact", "odd": 0.5, "text": '"dataPoints":[{}'})
    at = np.sort(rng.uniform(0, 100, 6))
    value = np.array([0.1, np.nan, np.inf, -np.inf, 1e300, 3.0])
    rows = [
        SimulatedSeries(0, job, "training.loss", named, at, value),
        SimulatedSeries(0, job, "process.cpu.wait", attributes({"pid": 7, "rank": 3}), at, value),
        SimulatedSeries(0, node, "system.cpu.utilization", (), at, value),
        SimulatedSeries(0, job, "training.loss", attributes({"rank": 4}), at, value),
    ]
    writer = DeliveryLines(EPOCH)
    for first, last in ((0, 2), (2, 6)):
        groups = [
            (
                row.resource,
                [
                    Sample(row.metric, float(v), float(t), row.attributes)
                    for t, v in zip(at[first:last] + EPOCH, value[first:last], strict=True)
                ],
            )
            for row in rows
        ]
        written = writer.metrics([(row, first, last) for row in rows])
        assert written == encode.metrics_json(groups)


def test_batches_carry_the_same_as_lines():
    found = recording.simulate(scenarios.named("crash"), 5)
    written, direct = SeriesTable(), SeriesTable()
    decoder = decode.MetricsDecoder(written)
    for line, (_, batch) in zip(found.lines(), found.batches(direct), strict=True):
        if isinstance(batch, list):
            (event,) = decode.logs_json(line).events
            assert event.name == batch[0].name
            assert event.at == pytest.approx(batch[0].at, abs=1e-6)
            assert dict(event.attributes) == dict(batch[0].attributes)
            continue
        columns = decoder.json(line).columns
        rows = sorted(
            (str(written[s]), round(a, 5), v)
            for s, a, v in zip(columns.series, columns.at, columns.value, strict=True)
        )
        other = batch.columns
        assert rows == sorted(
            (str(direct[s]), round(a, 5), v)
            for s, a, v in zip(other.series, other.at, other.value, strict=True)
        )


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    contents = []
    for number, seed in enumerate((7, 7, 8)):
        out = tmp_path / f"{number}.jsonl.gz"
        recordings.write(
            recording.simulate(scenarios.named("cpu_contention"), seed), out, progress=None
        )
        contents.append(out.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]
    lines = gzip.decompress(contents[0]).decode().splitlines()
    assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_recording_has_its_name_only_once_it_is_complete(name, tmp_path):
    out = tmp_path / name

    def interrupted():
        with recordings.opened(out) as file:
            file.write("{}\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [] == list(tmp_path.iterdir())
    out.write_text("of before")
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "of before" == out.read_text()
    assert [out] == list(tmp_path.iterdir())


def test_a_link_stays_one_when_a_recording_is_written_through_it(tmp_path):
    kept, link = tmp_path / "kept.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(kept)
    with recordings.opened(link) as file:
        file.write("{}\n")
    assert link.is_symlink()
    assert "{}\n" == kept.read_text()


def test_lines_come_in_order_of_arrival_not_of_host():
    found = recording.simulate(scenarios.named("quiet"), 2)
    hosts = [
        json.loads(line)["resourceMetrics"][0]["resource"]["attributes"][1]["value"]["stringValue"]
        for line in found.lines()
        if line.startswith('{"resourceMetrics"')
    ]
    changes = sum(a != b for a, b in itertools.pairwise(hosts))
    assert changes > len(hosts) // 2


def test_a_host_that_was_cut_off_delivers_everything_afterwards():
    found = recording.simulate(scenarios.named("quiet_late_agent"), 2)
    arrivals = []
    for at, batch in found.batches(SeriesTable()):
        if not isinstance(batch, list):
            arrivals.append((at - EPOCH, batch.columns.at.max() - EPOCH))
    late = [(at, newest) for at, newest in arrivals if at - newest > 20]
    assert late
    assert all(195 <= at < 197 for at, _ in late)
    samples = sum(
        len(b.columns) for _, b in found.batches(SeriesTable()) if not isinstance(b, list)
    )
    assert samples > 0.98 * found.samples


def test_every_fault_of_the_list_has_a_contract_id_and_a_scenario():
    used = {row.fault["kind"] for row in scenarios.catalogue().values() if row.fault}
    assert used == set(faults.FAULTS)
    for kind in faults.FAULTS.values():
        assert kind.id in fault_ids.catalogue()


def test_an_unknown_scenario_setting_or_fault_is_named():
    with pytest.raises(ScenarioError, match="cpu_contention"):
        scenarios.named("cpu_contetion")
    row = {"name": "x", "text": "", "seconds": 10}
    with pytest.raises(ScenarioError, match="scenario x, job: unknown stepseconds"):
        scenarios.read({**row, "job": [{"stepseconds": 1}]})
    with pytest.raises(ScenarioError, match="unknown hotness"):
        recording.simulate(
            scenarios.read({**row, "fault": {"kind": "crash", "onset": 5, "hotness": 1}}), 0
        )
    with pytest.raises(ScenarioError, match=r"fault.kind 'crsh'"):
        recording.simulate(scenarios.read({**row, "fault": {"kind": "crsh", "onset": 5}}), 0)
