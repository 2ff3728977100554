"""What holds of every simulated case."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.worlds import exporters, making, mechanisms, phases, plans, situation, tables, training
from bench.worlds.plans import CasePlan
from bench.worlds.situation import CaseSituation
from bench.worlds.tables import ReporterRow
from bench.worlds.training import JobAttempt
from rankscope.vocabulary import events, metrics
from rankscope.vocabulary import faults as catalogue
from rankscope.vocabulary.ids import Fault


def small(number: int, seed: int = 1, **changes: Any) -> CasePlan:
    """Return a plan of a small and short case."""
    plan = dataclasses.replace(plans.planned(seed)[number], world=8, per_host=4, minutes=3.0)
    return dataclasses.replace(plan, **changes)


def full() -> ReporterRow:
    """Return the reporter that lacks nothing."""
    return next(one for one in tables.reporters() if one.name == "full")


def of_fault(name: str, **changes: Any) -> CasePlan:
    """Return a small plan of a fault."""
    row = next(one for one in tables.faults() if one.id == name)
    return small(plans.QUIET, fault=row, reporter=full(), **changes)


def run(plan: CasePlan) -> tuple[CaseSituation, tuple[JobAttempt, ...]]:
    """Simulate the steps of a plan."""
    case = situation.situated(plan)
    mechanisms.add(case)
    attempts = training.attempts(case)
    phases.add(case, attempts)
    return case, attempts


def points(line: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield (metric, its body, point) of a line."""
    for resource in json.loads(line).get("resourceMetrics", []):
        for one in resource["scopeMetrics"][0]["metrics"]:
            body = one.get("gauge") or one["sum"]
            for point in body["dataPoints"]:
                yield one["name"], one, point


@pytest.mark.parametrize("number", [0, 4, 9, 14])
def test_phases_of_every_rank_add_up_to_the_step(number: int):
    _, attempts = run(small(number, habits={"checkpoints": 3.0, "expert_wander": 0.03}))
    records = attempts[0].records
    total = np.sum([records.phases[name] for name in training.PHASES], axis=0)
    expected = np.broadcast_to(records.durations[:, None], total.shape)
    assert len(records.ends) > 10
    np.testing.assert_allclose(total, expected, atol=1e-6)
    assert all((column >= -1e-9).all() for column in records.phases.values())


def test_who_is_slow_waits_least_and_everybody_ends_together():
    case, attempts = run(of_fault("gpu.slow", strength="plain", habits={}))
    records = attempts[0].records
    after = records.begins > case.onset
    slow = case.truth.ranks[0]
    assert slow == records.phases["comm"][after].mean(axis=0).argmin()
    assert slow == records.phases["compute"][after].mean(axis=0).argmax()


def test_a_popular_expert_loads_one_position_of_every_expert_group_and_spares_the_others():
    case, attempts = run(of_fault("balance.expert", strength="plain", habits={}, world=16))
    records, held = attempts[0].records, set(case.truth.ranks)
    compute = records.phases["compute"]
    before, after = records.ends < case.onset, records.begins > case.onset + 80
    change = compute[after].mean(axis=0) / compute[before].mean(axis=0)
    stage = {case.layout.ranks[rank].pp for rank in held}
    groups = [
        one.ranks
        for one in case.layout.groups
        if one.kind == "ep" and {case.layout.ranks[rank].pp for rank in one.ranks} == stage
    ]
    assert [1] * len(groups) == [len(held & set(ranks)) for ranks in groups]
    for ranks in groups:
        assert all((change[rank] > 1.1) == (rank in held) for rank in ranks)
        assert all(change[rank] < 1.0 for rank in ranks if rank not in held)


def test_in_a_deadlock_members_of_both_kinds_of_groups_differ_and_nobody_is_behind_in_all():
    case, attempts = run(of_fault("software.deadlock", strength="plain", habits={}))
    groups = {one.name: one for one in case.layout.groups if one.kind in ("dp", "ep")}
    called: dict[str, dict[int, float]] = {name: {} for name in groups}
    for one in making.all_series(case, attempts, exporters.exporters(case)):
        if one.metric == "collective.enqueued" and one.attributes["group"] in groups:
            rank = int(one.attributes["rank"])
            called[str(one.attributes["group"])][rank] = float(one.values[-1])
    behind = [
        {rank for rank, count in found.items() if count < max(found.values())}
        for found in called.values()
    ]
    assert {"dp", "ep"} == {one.kind for one in groups.values()}
    assert all(behind)
    assert set() == set.intersection(*behind)


def test_a_job_that_never_starts_waits_with_idle_processes_and_ends_by_the_time_out():
    case, attempts = run(of_fault("software.init_failed", strength="plain", minutes=40.0))
    found = {
        one.metric: one for one in making.all_series(case, attempts, exporters.exporters(case))
    }
    exits = [one.at - case.begin for one in case.events if one.name == "process.exit"]
    assert "training.step" not in found
    assert found["training.progress.age"].values[-1] > 1800.0
    assert 0.05 > found["process.cpu.utilization"].values[-1]
    assert 2.0**30 > found["hw.gpu.memory.usage"].values.max()
    assert [1831.0] * 8 == exits


@pytest.mark.parametrize("within", [True, False])
def test_nothing_is_in_flight_while_a_job_evaluates_or_saves_and_no_number_falls(within: bool):
    habits = {"evaluations": 20.0, "checkpoints": 9.0} | (
        {"eval_within_step": 1.0} if within else {}
    )
    case, attempts = run(small(9, habits=habits, minutes=8.0, reporter=full()))
    records = attempts[0].records
    pauses = [*records.pauses, *((begin + 0.1, end - 0.1) for begin, end in records.saves)]
    numbers: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in making.all_series(case, attempts, exporters.exporters(case)):
        if one.metric in ("collective.enqueued", "collective.completed"):
            assert (np.diff(one.values) >= 0).all()
            whose = (one.attributes["rank"], one.attributes["group"])
            numbers.setdefault(whose, {})[one.metric.removeprefix("collective.")] = one
    assert records.pauses
    assert records.saves
    seen = 0
    for found in numbers.values():
        times = found["enqueued"].times
        ahead = found["enqueued"].values - found["completed"].values
        assert ahead.max() > 0
        for begin, end in pauses:
            inside = (times > begin) & (times < end)
            seen += int(inside.sum())
            assert 0.0 == ahead[inside].max(initial=0.0)
    assert seen


def test_values_that_are_not_finite_are_said_of_the_step_that_has_them():
    case, attempts = run(
        of_fault("numerics.nan_data", strength="plain", habits={"warmup_steps": 30})
    )
    said = [one for one in case.events if one.name == "training.numeric"]
    first = min(int(one.attributes["step"]) for one in said)
    ranks = {int(one.attributes["rank"]) for one in said if one.attributes["step"] == first}
    series = making.all_series(case, attempts, exporters.exporters(case))
    losses = {int(one.attributes["rank"]): one for one in series if one.metric == "training.loss"}
    place = attempts[0].records.numbers.tolist().index(first)
    bad = {rank for rank, one in losses.items() if np.isnan(one.values[place])}
    before = [one.values[:place] for one in losses.values()]
    of_replica = {case.layout.ranks[one].dp for one in bad}
    assert ranks == bad == {one.rank for one in case.layout.ranks if one.dp in of_replica}
    assert np.isfinite(before).all()


def test_a_process_of_the_second_attempt_holds_its_device_under_its_own_number():
    case, attempts = run(of_fault("numerics.bad_resume", strength="plain", habits={}, minutes=5.0))
    held: dict[int, set[int]] = {0: set(), 1: set()}
    named: dict[int, set[int]] = {0: set(), 1: set()}
    for one in making.all_series(case, attempts, exporters.exporters(case)):
        if one.metric == "training.rank.info":
            named[one.attempt or 0].add(int(one.attributes["pid"]))
        if one.metric == "hw.gpu.process.memory":
            held[int(one.times[0] >= attempts[1].begin)].add(int(one.attributes["pid"]))
    assert named == held
    assert not held[0] & held[1]


def test_a_host_with_another_driver_reports_it_instead_of_the_usual_one():
    case, attempts = run(of_fault("host.config_drift"))
    hosts = exporters.exporters(case)
    drivers = {
        case.layout.hosts[one.host].name: one.attributes["version"]
        for one in making.all_series(case, attempts, hosts)
        if one.metric == "system.software.info" and one.attributes["name"] == "driver"
    }
    other = drivers.pop(case.truth.host or "")
    assert {host.name for host in case.layout.hosts} == {case.truth.host, *drivers}
    assert other not in drivers.values()


def test_a_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path):
    for folder, seed in (("one", 1), ("two", 1), ("other", 2)):
        making.make(small(3, seed), tmp_path / folder)
    one, two, other = (
        (tmp_path / folder / "case.jsonl.gz").read_bytes() for folder in ("one", "two", "other")
    )
    assert one == two
    assert one != other


def test_a_seed_that_is_held_back_has_rows_that_the_others_have_not():
    rows = {row.id for row in tables.faults() if row.held_back}
    habits = {row.id for row in tables.habits().values() if row.held_back}
    usual, later = plans.planned(1), plans.planned(tables.HELD_BACK_FROM)
    assert rows <= {one.fault.id for one in later if one.fault}
    assert not rows & {one.fault.id for one in usual if one.fault}
    assert habits <= {name for one in later for name in one.habits}
    assert not habits & {name for one in usual for name in one.habits}
    assert [plans.QUIET + plans.FAULTS] * 2 == [len(usual), len(later)]


@pytest.mark.parametrize("name", [row.id for row in tables.faults()])
def test_every_fault_names_an_entity_that_the_vocabulary_allows(name: str):
    plan = of_fault(name, world=16)
    case, attempts = run(plan)
    assert name == case.truth.fault
    assert case.truth.type in catalogue.catalogue()[Fault(name)].entities
    assert case.truth.onset is not None
    assert case.begin <= case.truth.onset < case.end
    assert len(attempts) == 1 + (case.restart is not None)


@pytest.mark.parametrize("name", ["gpu.lost", "network.link_flap", "numerics.nan_data"])
def test_lines_have_the_names_units_and_attributes_of_the_vocabulary(name: str, tmp_path: Path):
    case, attempts = run(of_fault(name))
    known = metrics.catalogue()
    for one in making.all_series(case, attempts, exporters.exporters(case)):
        row = known[one.metric]
        assert set(row.attributes) <= set(one.attributes) | {"desc"}, one.metric
        allowed = {*row.attributes, *row.optional, "source", "quality", "hw.vendor", "rank"}
        assert set(one.attributes) <= allowed, one.metric
        assert (row.kind == "counter") == (one.start is not None), one.metric
        assert all(one.times[1:] > one.times[:-1]), one.metric
        if row.kind == "counter":
            assert all(np.diff(one.values) >= 0.0), one.metric
    for event in case.events:
        assert set(event.attributes) <= set(events.catalogue()[event.name].attributes), event


@pytest.mark.parametrize("name", ["host.lost", "numerics.nan_rank"])
def test_a_replay_takes_every_line_without_complaint(name: str, tmp_path: Path):
    making.make(of_fault(name), tmp_path)
    command = [sys.executable, "-m", "rankscope.cli.main", "replay", "--json"]
    done = subprocess.run(
        [*command, str(tmp_path / "case.jsonl.gz")], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
