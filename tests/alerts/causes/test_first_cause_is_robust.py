"""What must not matter to the first cause: names, order, healthy replicas, constant metrics.

For every fault with all of its evidence, and once through the whole pipeline.
"""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.alerts.explaining import EVERYTHING
from tests.examples import told

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.alerts.causes.engine import explanations
from rankscope.cli import main
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.faults import inject
from rankscope.lab.suites.drawing import DrawnChoice, scenario_of
from rankscope.lab.suites.tables import ClusterShape, ReportingHabit
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ranks import RankSet


@pytest.fixture
def all_of(found):
    """Return a function that returns all that a cause predicts, on one rank and its host."""

    def entity(kind, number, layout):
        host = layout.host(number)
        ranks = layout.ranks_of_host(host)
        return {
            "job": layout.job_entity,
            "host": layout.host_entity(host),
            "rank": layout.rank_entity(number),
            "gpu": layout.gpu_entity(number),
            "nic": Entity("nic", f"{host}/mlx5_0:1", host, ranks),
            "switch": Entity("switch", "leaf-1", None, ranks),
            "storage": Entity("storage", "/data", None, ranks),
            "process": Entity("process", f"{host}:{1000 + number}", host, RankSet((number,))),
            "group": Entity("group", "ep:1", None, ranks),
            "code": Entity("code", layout.job),
        }[kinds.catalogue()[kind].entities[0]]

    def make(cause, layout):
        number = cause.only_ranks[0] if cause.only_ranks else 2
        wanted = {prediction.finding for prediction in cause.predicts}
        if not wanted & set(cause.symptoms):
            wanted.add(cause.symptoms[0])
        return [found(kind, entity(kind, number, layout)) for kind in sorted(wanted)]

    return make


def first(findings, layout, observed=EVERYTHING):
    """Return fault, type of the entity, its ranks and the score of the first cause of each root."""
    rows = [
        explanation.cause.hypotheses[0]
        for explanation in explanations(findings, layout, observed=observed)
    ]
    return [(row.fault, row.entity.type, row.entity.ranks, round(row.score, 9)) for row in rows]


def test_names_of_hosts_do_not_matter(all_of, lay_out):
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            one, other = lay_out(), lay_out(hosts=("zeta-17", "alpha"))
            assert first(all_of(cause, one), one) == first(all_of(cause, other), other)


def test_the_order_of_findings_does_not_matter(all_of, topology):
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            findings = all_of(cause, topology)
            shuffled = random.Random(7).sample(findings, len(findings))
            rows = explanations(findings, topology, observed=EVERYTHING)
            assert rows == explanations(shuffled, topology, observed=EVERYTHING)


def test_a_healthy_replica_more_does_not_change_the_first_cause(all_of, lay_out):
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            one, other = lay_out(), lay_out(hosts=("host-a", "host-b", "host-c"))
            places = [row[:2] for row in first(all_of(cause, one), one)]
            assert places == [row[:2] for row in first(all_of(cause, other), other)]


def test_a_metric_that_nothing_looks_at_does_not_matter(all_of, topology):
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            findings = all_of(cause, topology)
            more = EVERYTHING | {"site.constant"}
            assert first(findings, topology) == first(findings, topology, more)


def simulated(hosts=2):
    """Return the lines of a recording in which a rank of host 1 is stuck."""
    shape = ClusterShape(
        "small", 120.0, {"hosts": hosts, "slots": 2, "cores": 32}, {"step_seconds": 1.0}
    )
    scenario = scenario_of(shape, DrawnChoice(ReportingHabit("own", {"push": 1.0})))
    made = inject("stuck_process", scenario, np.random.default_rng(5), onset=70.0)
    settings = {**(made.fault or {}), "host": 1, "place": 1}
    return list(recording.simulate(replace(made, fault=settings), seed=5).lines())


def renamed(lines):
    return [line.replace("gpu-00", "zeta-17").replace("gpu-01", "alpha") for line in lines]


def swapped(lines):
    return [line for at in range(0, len(lines), 2) for line in reversed(lines[at : at + 2])]


def with_a_constant(lines):
    more = []
    for line in lines:
        document = json.loads(line)
        for part in document.get("resourceMetrics", ()):
            metrics = part["scopeMetrics"][0]["metrics"]
            points = next((m["gauge"]["dataPoints"] for m in metrics if "gauge" in m), None)
            if points:
                point = {"timeUnixNano": points[0]["timeUnixNano"], "asDouble": 42.0}
                gauge = {"name": "site.constant", "unit": "1", "gauge": {"dataPoints": [point]}}
                metrics.append(gauge)
        more.append(json.dumps(document))
    return more


def test_through_the_whole_pipeline_none_of_it_matters(tmp_path, capsys):
    def answer(lines):
        path = tmp_path / "recording.otlp.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        capsys.readouterr()
        main.main(["replay", str(path), "--json"])
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line[0] == "{"]
        (row,) = [row for row in rows if row["severity"] != "info"]
        best = row["root_cause"]["hypotheses"][0]
        return best["fault"], best["entity"]["type"], best["entity"]["ranks"]

    lines = simulated()
    assert ("software.stuck_process", "rank", [3]) == answer(lines)
    for changed in (renamed(lines), swapped(lines), with_a_constant(lines), simulated(hosts=3)):
        assert changed != lines
        assert ("software.stuck_process", "rank", [3]) == answer(changed)
