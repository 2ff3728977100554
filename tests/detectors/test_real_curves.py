"""Real runs: what pages somebody on healthy ones is false, what was labelled as slow is found."""

import numpy as np
import pytest

from bench import curves
from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector
from rankscope.detectors.window import StepValues

STOPPING = {"job.stalled", "job.crashed", "job.nonfinite", "host.silent"}


def test_no_healthy_run_is_called_stopped_or_corrupted(real_data):
    path = real_data("curves/nanogpt_runs.parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no parquet")
    table = parquet.read_table(path)
    run, loss, milliseconds = (table[name].to_numpy() for name in ("run", "loss", "step_ms"))
    said = []
    for name in np.unique(run):
        own = milliseconds[run == name][None, :].astype(float) / 1_000
        valid = loss[run == name][None, :]
        for end in np.linspace(20, own.shape[1], 10).astype(int):
            planes = {"training.loss|local": valid[:, :end]}
            window = sketch(own[:, :end], hosts=1, planes=planes)
            found = [f for detector in detectors() for f in detector.evaluate(window)]
            said += [(name, end, f.text) for f in found if f.kind in STOPPING]
    assert [] == said


@pytest.mark.parametrize(
    ("run", "between", "episodes"),
    [
        ("gpt/gpt3_weekly_mcore_tp2_pp2", (0, 2_000), [(213, 240), (1405, 1425)]),
        ("gpt/gpt3_weekly_mcore_tp4_cp2", (0, 2_000), []),
        ("mixtral/deepseekv3_proxy", (27_000, 31_500), [(29_910, 30_650)]),
        ("mixtral/mixtral_8x7b", (18_000, 22_700), []),
        ("t5/t5_release_sm", (0, 10**9), []),
    ],
)
def test_each_slow_episode_of_a_real_run_is_one_incident_and_nothing_else_is(
    real_data, run, between, episodes
):
    """One rank reports the mean step time of the last steps.

    Findings are read as the collector does: nothing is learnt while one is open, and a gap of half
    a minute or two reports ends it.
    """
    index, seconds = megatron(real_data, run, between)
    every = np.diff(index, prepend=index[0] - 1).clip(1)
    at = START + np.cumsum(every * seconds)
    held, found, until = JobBaselines(), [], -np.inf
    for end in range(12, len(index) + 1):
        first = max(0, end - 512)
        steps = StepValues(
            index[first:end],
            at[None, first:end],
            {"training.step.duration": seconds[None, first:end]},
        )
        now = float(at[end - 1])
        window = sketch(np.ones((1, 2)), hosts=1, now=now, steps=steps, held_baselines=held)
        held.frozen = now <= until
        if not held.frozen:
            held.learn(window.features)
        if SlowStepsDetector().evaluate(window):
            if now > until:
                found.append([int(index[end - 1]), 0])
            found[-1][1] = int(index[end - 1])
            until = now + max(30.0, 2 * float(at[end - 1] - at[end - 2]))
    assert len(episodes) == len(found), found
    for (begin, end), (first, last) in zip(episodes, found, strict=True):
        assert begin <= first < end, "while it lasts"
        assert last > first


def megatron(real_data, run, between):
    """Return step indices and seconds of a run's reports between two steps."""
    path = real_data("curves/megatron_runs.parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no parquet")
    table = parquet.read_table(path)
    name, step, seconds = (table[column].to_numpy() for column in ("run", "step", "step_s"))
    mine = np.array([str(one).startswith(run) for one in name])
    mine &= np.isfinite(seconds) & (step >= between[0]) & (step <= between[1])
    index, first = np.unique(step[mine], return_index=True)
    return index, seconds[mine][first].astype(float)


def test_labelled_spikes_are_found_and_healthy_runs_have_no_trouble_of_training(real_data):
    """The newest 2,000 reports of each run; `python -m bench.curves` looks at all."""
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no parquet")
    folder = real_data("curves/megatron_runs.parquet").parents[1]
    wrong = []
    for run in curves.runs(folder):
        last = run.labels[-1] // 5 + 200 if run.labels else len(run.loss)
        part = slice(max(last - 2_000, 0), last)
        fields = (run.index[part], run.loss[part], run.seconds[part], run.labels)
        found = curves.episodes(curves.CurveRun(run.name, run.plane, *fields))
        spikes, count = found.pop("job.loss_spike", []), curves.MethodCount()
        curves.score(run, [(a + part.start, b + part.start) for a, b in spikes], count,
                     above_info=False)  # fmt: skip
        wrong += [(run.name, found)] * (count.found != len(run.labels) or bool(found))
    assert [] == wrong
