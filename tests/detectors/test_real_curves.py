"""Healthy real runs: whatever the detectors say of them that would page somebody is false."""

import numpy as np
import pytest

from rankscope.detectors.catalogue import detectors
from rankscope.detectors.sketch import sketch

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
