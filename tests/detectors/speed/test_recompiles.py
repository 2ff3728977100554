"""Single steps many times longer than the others, in which ranks compute."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.recompiles import RecompilesDetector

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"
TOKENS = "training.tokens"
LONG = [40, 47, 90, 155, 171]


def kinds(findings):
    return [finding.kind for finding in findings]


@pytest.mark.parametrize("rows", [slice(None), slice(2, 3)], ids=["all ranks", "one rank"])
def test_irregular_long_steps_are_compilation_and_slow_the_job(steady, rows):
    own = steady(steps=200)
    own[rows, LONG] = 8.0
    slow, compiled = RecompilesDetector().evaluate(sketch(own))
    assert ("job.slow", "job.recompiles") == (slow.kind, compiled.kind)
    assert slow.magnitude == pytest.approx(1.18, abs=0.01)
    assert 5 == compiled.magnitude


def test_own_time_made_of_step_and_wait_needs_a_sign_of_the_compiler(steady, event):
    """Evaluations and checkpoints are in it as well."""
    own = steady(steps=200)
    own[:, LONG] = 8.0
    line = event("log.fault", 70, rank=0, signature="torch_recompile", text="Recompiling function")
    window = sketch(own)
    del window.steps.planes[COMPUTE]  # type: ignore[attr-defined]
    assert [] == RecompilesDetector().evaluate(window)
    named = ["job.slow", "job.recompiles", "job.compiler_signs"]
    assert named == kinds(RecompilesDetector().evaluate(replace(window, events=(line,))))


@pytest.mark.parametrize(
    ("at", "device", "process", "named"),
    [
        pytest.param(LONG, 0.05, 0.95, True, id="hosts work and devices rest"),
        pytest.param(LONG, 0.05, 0.05, False, id="hosts rest as well: they wait for data"),
        pytest.param(LONG, 0.9, 0.95, False, id="devices calculate: an evaluation"),
        pytest.param([40, 80, 120, 160], 0.05, 0.95, False, id="a schedule: checkpoints"),
    ],
)
def test_step_times_alone_are_compilation_where_hosts_work_while_devices_rest(
    steady, at, device, process, named
):
    own = steady(steps=200)
    own[:, at] = 12.0
    window = sketch(own)
    ends = window.steps.at[0]
    times = np.arange(START, ends[-1], 2.0)
    held = np.isin(np.searchsorted(ends, times), at)
    values = {
        "hw.gpu.utilization": np.where(held, device, 0.9),
        "process.cpu.utilization": np.where(held, process, 0.6),
    }
    given = {name: readings(times, np.tile(value, (4, 1))) for name, value in values.items()}
    window = replace(window, rank_readings=given)
    for plane in (COMPUTE, COMM):
        del window.steps.planes[plane]  # type: ignore[attr-defined]
    assert (["job.slow", "job.recompiles"] if named else []) == kinds(
        RecompilesDetector().evaluate(window)
    )


def test_announced_evaluations_are_no_compilation(steady, event):
    own = steady(steps=200)
    own[:, LONG] = 8.0
    begun = sketch(own).steps.at[0, np.array(LONG) - 1] - START
    phases = tuple(event("training.phase", float(at), rank=0, phase="eval") for at in begun)
    assert [] == RecompilesDetector().evaluate(sketch(own, events=phases))


def test_few_that_cost_little_are_evidence_and_no_symptom(steady):
    own = steady(steps=600)
    own[:, LONG] = 4.0
    assert ["job.recompiles"] == kinds(RecompilesDetector().evaluate(sketch(own)))


def test_with_a_log_line_of_the_compiler_half_the_cost_is_info(steady, event):
    own = steady(steps=600)
    own[:, LONG] = 4.0
    line = event("log.fault", 70, rank=0, signature="torch_recompile", text="Recompiling function")
    slow, *_ = RecompilesDetector().evaluate(replace(sketch(own), events=(line,)))
    assert "job.slow" == slow.kind
    assert slow.score < 1


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param([0, 1, 2, 3, 4], id="the first steps compile"),
        pytest.param([30, 60, 90, 120, 150, 180], id="at a regular interval it is a schedule"),
        pytest.param([30, 60, 120, 150, 180], id="a schedule that was kept but once"),
        pytest.param([50, 120], id="two are luck"),
        pytest.param(list(range(20, 190, 3)), id="so many are how the job steps"),
    ],
)
def test_what_else_is_long_is_no_finding(steady, columns):
    own = steady(steps=200)
    own[:, columns] = 8.0
    assert [] == RecompilesDetector().evaluate(sketch(own))


def test_intervals_that_differ_a_little_after_a_long_time_without_are_no_schedule(steady):
    own = steady(steps=40)
    own[:, [24, 27, 31]] = 8.0
    assert ["job.slow", "job.recompiles"] == kinds(RecompilesDetector().evaluate(sketch(own)))


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param([24, 27, 30], id="a schedule that began late"),
        pytest.param([9, 12, 16], id="one kept by the clock from the start"),
        pytest.param([24, 25, 26], id="one slow time"),
    ],
)
def test_three_close_together_may_be_something_else(steady, columns):
    own = steady(steps=40)
    own[:, columns] = 8.0
    assert "job.recompiles" not in kinds(RecompilesDetector().evaluate(sketch(own)))


def test_a_first_step_of_minutes_is_no_finding(steady):
    own = steady(steps=60)
    own[:, 0] = 300.0
    assert [] == RecompilesDetector().evaluate(sketch(own))


def test_two_steps_with_new_shapes_are_enough_where_others_repeat_theirs(steady):
    own = steady(steps=200)
    own[:, [50, 120]] = 8.0
    tokens = np.full(own.shape, 4096.0)
    tokens[:, [50, 120]] = [4100.0, 4216.0]
    findings = RecompilesDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["job.slow", "job.recompiles", "job.compiler_signs"] == kinds(findings)


def test_so_are_two_with_the_compilers_log_lines(steady, event):
    own = steady(steps=200)
    own[:, [50, 120]] = 8.0
    line = event("log.fault", 70, rank=0, signature="torch_recompile", text="Recompiling function")
    findings = RecompilesDetector().evaluate(sketch(own, events=(line,)))
    assert ["job.slow", "job.recompiles", "job.compiler_signs"] == kinds(findings)
    other = event("log.fault", 70, rank=0, signature="cuda_oom", text="out of memory")
    assert [] == RecompilesDetector().evaluate(sketch(own, events=(other,)))


def test_tokens_that_differ_at_each_step_are_no_new_shapes(steady):
    own = steady(steps=200)
    own[:, [50, 120]] = 8.0
    tokens = np.tile(np.random.default_rng(3).permutation(200) + 4000.0, (4, 1))
    assert [] == RecompilesDetector().evaluate(sketch(own, planes={TOKENS: tokens}))


@pytest.mark.parametrize("part", [COMM, "training.data.duration", "training.checkpoint.duration"])
def test_long_steps_of_anything_but_own_work_are_no_compilation(steady, part):
    own = steady(steps=200)
    extra = np.zeros(own.shape)
    extra[:, LONG] = 8.0
    whole = sketch(own + extra).steps.plane("training.step.duration")
    planes = {COMPUTE: own, COMM: whole - own - extra, part: extra}
    if part == COMM:
        planes[COMM] = whole - own
    assert [] == RecompilesDetector().evaluate(sketch(own + extra, planes=planes))


def test_a_few_long_steps_of_half_a_minute_in_which_all_ranks_compute_are_enough(steady):
    own = 20 * steady(steps=30)
    own[:, [18, 20, 21]] *= 1.6
    assert ["job.slow", "job.recompiles"] == kinds(RecompilesDetector().evaluate(sketch(own)))
    one = 20 * steady(steps=30)
    one[2, [18, 20, 21]] *= 1.6
    assert [] == RecompilesDetector().evaluate(sketch(one))


def test_batches_that_begin_to_vary_are_no_new_shapes_to_compile(steady):
    """Most steps have a number of tokens that no step had before, and few of them are long."""
    own, tokens = steady(steps=200), np.full((4, 200), 4096.0)
    tokens[:, 190:] = np.random.default_rng(1).integers(3000, 9000, (4, 10))
    own[:, [191, 196]] = 4.0
    assert [] == RecompilesDetector().evaluate(sketch(own, planes={TOKENS: tokens}))


def test_recompilation_began_when_long_steps_became_more_frequent(steady):
    """Two stray delays long before are the job's own."""
    own = steady(steps=260)
    often = [150, 155, 166, 170, 183, 197, 201, 214, 226, 240, 247]
    own[:, [12, 70, *often]] = 3.0
    window = sketch(own)
    _slow, compiled = RecompilesDetector().evaluate(window)
    assert 13 == compiled.magnitude
    assert compiled.onset[1] == window.steps.at[:, 150].max()
