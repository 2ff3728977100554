"""Healthy real runs: whatever the detectors say of them that would page somebody is false."""

import numpy as np
import pytest

from rankscope.detectors.catalogue import detectors
from rankscope.detectors.sketch import sketch
from rankscope.lab import curves

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


def test_labelled_spikes_are_found_and_healthy_runs_have_no_trouble_of_training(real_data):
    """The newest 2,000 reports of each run; `python -m rankscope.lab.curves` looks at all."""
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no parquet")
    folder = real_data("curves/megatron_runs.parquet").parents[1]
    wrong = []
    for run in curves.runs(folder):
        last = run.labels[-1] // 5 + 200 if run.labels else len(run.loss)
        part = slice(max(last - 2_000, 0), last)
        fields = (run.index[part], run.loss[part], run.seconds[part], run.labels)
        found = curves.episodes(curves.Run(run.name, run.plane, *fields))
        spikes, count = found.pop("job.loss_spike", []), curves.Count()
        curves.score(run, [(a + part.start, b + part.start) for a, b in spikes], count,
                     above_info=False)  # fmt: skip
        wrong += [(run.name, found)] * (count.found != len(run.labels) or bool(found))
    assert [] == wrong
