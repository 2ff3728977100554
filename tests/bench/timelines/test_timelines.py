import gzip
import json
from dataclasses import replace
from random import Random

import pytest

from bench.timelines import cases, plans
from bench.timelines.cases import CasePlan
from bench.timelines.clusters import SimulatedCluster
from bench.timelines.event_loop import EventLoop, EventProcess, WaitSignal
from bench.timelines.faults.kinds import FAULTS
from bench.timelines.faults.scene import FaultScene
from bench.timelines.plans import JobPlan, ReporterPlan
from bench.worlds import replays, scoring
from rankscope.vocabulary.faults import catalogue
from rankscope.vocabulary.metrics import catalogue as metrics

SMALL = JobPlan(hosts=1, per_host=4, seconds=90.0, compute=0.8, first_step=1.0, init_seconds=2.0)
EVERYTHING = ReporterPlan("everything", "All families.")
COMPUTE, WAIT = "training.compute.duration", "training.comm.duration"


def _cluster(**changes):
    return SimulatedCluster(replace(SMALL, **changes), EVERYTHING, Random(5), "job")


def _requests(cluster):
    return [json.loads(line) for line in cluster.recorder.lines()]


def _points(cluster):
    """Yield (metric, point, attributes) of everything that was sent."""
    for request in _requests(cluster):
        for resource in request.get("resourceMetrics", []):
            for metric in resource["scopeMetrics"][0]["metrics"]:
                for point in (metric.get("gauge") or metric["sum"])["dataPoints"]:
                    named = {row["key"]: row["value"] for row in point["attributes"]}
                    yield metric["name"], point, named


def _of_rank(cluster, metric):
    values: dict[int, list[float]] = {}
    for name, point, named in _points(cluster):
        if name == metric:
            values.setdefault(int(named["rank"]["intValue"]), []).append(float(point["asDouble"]))
    return values


def _middle(values):
    return sorted(values)[len(values) // 2]


def test_processes_run_in_the_order_of_time_then_of_arrival():
    loop, seen, signal = EventLoop(), [], WaitSignal()

    def process(name: str, seconds: float) -> EventProcess:
        yield seconds
        seen.append((loop.now, name))
        yield signal
        seen.append((loop.now, name))

    for name, seconds in (("late", 2.0), ("early", 1.0), ("second", 2.0)):
        loop.spawn(process(name, seconds))
    loop.call(3.0, lambda: loop.fire(signal))
    loop.run(10.0)
    first = [(1.0, "early"), (2.0, "late"), (2.0, "second")]
    assert [*first, (3.0, "early"), (3.0, "late"), (3.0, "second")] == seen


def test_a_slow_device_computes_longer_waits_less_and_the_others_use_less_power():
    cluster = _cluster()
    cluster.hosts[0].devices[2].slow = 1.6
    cluster.run()
    compute = {rank: _middle(row) for rank, row in _of_rank(cluster, COMPUTE).items()}
    waits = {rank: _middle(row) for rank, row in _of_rank(cluster, WAIT).items()}
    assert (
        max(compute, key=lambda rank: compute[rank])
        == min(waits, key=lambda rank: waits[rank])
        == 2
    )
    assert compute[2] == pytest.approx(1.6 * compute[0], rel=0.1)
    assert max(row for rank, row in waits.items() if rank != 2) > 2.0 * waits[2]
    alike = _cluster()
    alike.run()
    joules = [one.hosts[0].devices[0].joules for one in (cluster, alike)]
    assert joules[0] < 0.95 * joules[1]


def test_a_collective_does_not_end_without_its_last_member():
    cluster = _cluster()
    cluster.loop.call(45.0, lambda: setattr(cluster.ranks[1], "stuck", True))
    cluster.run()
    group = cluster.ranks[0].job.groups["dp"][0]
    assert group.enqueued[1] < group.enqueued[0]
    assert len(set(group.completed.values())) == 1
    assert all(one.last_end < 50.0 for one in cluster.ranks)


def test_a_hot_device_slows_down_by_its_own_heat():
    cluster = _cluster(seconds=240.0)
    device = cluster.hosts[0].devices[1]
    device.resistance *= 3.0
    cluster.run()
    assert "thermal_sw" in device.reasons
    assert device.clock < cluster.hosts[0].devices[0].clock
    assert device.temperature == pytest.approx(device.model.hot, abs=5.0)


def test_a_counter_starts_again_with_its_agent():
    cluster = _cluster(upgrade_at=0.4)
    cluster.run()
    energy = [
        (point["startTimeUnixNano"], float(point["asDouble"]))
        for name, point, named in _points(cluster)
        if name == "hw.energy" and named["gpu"]["intValue"] == "0"
    ]
    first, second = ([value for at, value in energy if at == start] for start in _starts(energy))
    assert sorted(first) == first
    assert sorted(second) == second
    assert second[0] < first[-1]


def _starts(energy):
    return sorted({start for start, _ in energy})


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_in_the_vocabulary_and_says_whom_it_strikes(fault):
    assert fault in catalogue()
    kind = FAULTS[fault]
    plan = replace(SMALL, **{"hosts": 2, **kind.plan, "seconds": 70.0})
    cluster = SimulatedCluster(plan, EVERYTHING, Random(8), "job")
    scene = FaultScene(cluster, Random(9), weak=False, onset=40.0, rank=1)
    kind.strike(scene)
    cluster.run()
    assert {"type", "id", "host"} == set(scene.entity)
    assert scene.entity["id"]
    assert scene.ranks
    assert set(scene.ranks) <= set(range(plan.ranks))


def test_every_metric_of_a_whole_report_is_in_the_vocabulary():
    cluster = _cluster(tp=2, save_every=10, save_seconds=1.0, gc_every=7, gc_seconds=0.1)
    cluster.run()
    names = {name for name, _, _ in _points(cluster)}
    assert names <= set(metrics())
    assert {COMPUTE, WAIT, "training.checkpoint.duration", "hw.power"} <= names


@pytest.mark.parametrize("name", ["behaviours", "reporters"])
def test_every_row_of_a_table_has_a_reason_and_fields_that_exist(name):
    rows = plans.table(name)
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert row["why"].endswith(".")
        assert set(row.get("set", {})) <= set(JobPlan.__dataclass_fields__)


def test_what_is_held_back_occurs_from_its_seed_on_only():
    held = {fault for fault, kind in FAULTS.items() if kind.held_back}
    habits = {row["name"] for row in plans.table("behaviours") if row.get("held_back")}
    assert (5, 8) == (len(held), len(habits))
    for seed in range(3):
        drawn = cases.planned(seed)
        assert not held & {one.fault for one in drawn}
        assert not habits & {name for one in drawn for name in one.job()[1]}
    late = cases.planned(1000)
    assert held <= {one.fault for one in late}
    assert habits & {name for one in late for name in one.job()[1]}


def test_a_seed_has_thirty_quiet_cases_and_thirty_faults():
    drawn = cases.planned(3)
    assert 30 == sum(one.fault is None for one in drawn)
    assert 30 == len({one.fault for one in drawn if one.fault})
    assert 8 == len(cases.smallest(drawn, 4))


def test_the_same_case_gives_the_same_bytes(tmp_path):
    case = cases.smallest(cases.planned(3), 1)[0]
    for name in ("once", "twice"):
        cases.make(case, tmp_path / name)
    for file in ("case.jsonl.gz", "truth.json"):
        once, twice = ((tmp_path / name / file).read_bytes() for name in ("once", "twice"))
        assert once == twice


def test_a_replay_takes_a_case_without_complaint_and_it_is_scored(tmp_path):
    case = CasePlan("software.deadlock", 3, "software.deadlock")
    cases.make(case, tmp_path)
    incidents = replays.incidents(tmp_path)
    assert not (tmp_path / "complaints.txt").read_text(encoding="utf-8")
    truth = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert scoring.scored(truth, incidents).id == case.id
    with gzip.open(tmp_path / "case.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert all(set(json.loads(line)) <= {"resourceMetrics", "resourceLogs"} for line in lines)
