"""Published traces of operations: replayed by micro-batches, and as the meter sees them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.counterfactual import pipelines, traces

parquet = pytest.importorskip("pyarrow.parquet")
pyarrow = pytest.importorskip("pyarrow")

STAGES, BATCHES, STEPS, LINES = 2, 4, 40, 4


def test_a_pipeline_without_others_takes_the_sum_of_its_work():
    work = np.arange(6.0).reshape(1, 3, 2, 1)
    assert (2 * work.sum(axis=1)[0, :, 0]).tolist() == pipelines.span(work, work).tolist()


def test_equal_stages_idle_while_a_pipeline_fills_and_drains():
    """(micro-batches + stages - 1) forwards and as many backwards."""
    work = np.ones((4, 8, 1, 1))
    assert [3 * (8 + 3)] == pipelines.span(work, 2 * work).tolist()


def test_a_stage_runs_forwards_ahead_and_then_by_turns():
    assert [
        ("forward", 0), ("forward", 1), ("backward", 0), ("forward", 2), ("backward", 1),
        ("backward", 2),
    ] == pipelines.schedule(0, 2, 3)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of one trace: a worker of the second stage takes twice as long as others."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("dp_rank", "stage", "step", "optype", "start_ts", "duration", "mb_id")
    }
    random = np.random.default_rng(3)
    for step in range(STEPS):
        works = {}
        for kind, seconds in (("forward", 0.1), ("backward", 0.2)):
            work = seconds * random.lognormal(0.0, 0.01, (STAGES, BATCHES, 1, LINES))
            work[1, :, 0, 2] *= 2
            works[kind] = work
        took = float(pipelines.span(works["forward"], works["backward"])[0])
        for kind, work in works.items():
            for stage, batch, _, line in np.ndindex(work.shape):
                last = (kind, stage, batch, line) == ("backward", 1, BATCHES - 1, 2)
                seconds = float(work[stage, batch, 0, line])
                begin = 100.0 * step + (took - seconds if last else 0.0)
                values = (line, stage, step, f"{kind}-compute", begin, seconds, batch)
                for name, value in zip(rows, values, strict=True):
                    rows[name].append(value)
    parquet.write_table(pyarrow.table(rows), tmp_path / "trace-XX.parquet")
    (tmp_path / "result-XX.json").write_text(json.dumps({"blocking_slowdown": 1.0}))
    return tmp_path


def test_a_slow_worker_is_found_in_a_trace_and_the_authors_are_compared_with(folder):
    (found,) = traces.slowdowns(folder)
    ideal = 0.3 * (1 + 1 / (STAGES * LINES)) * (BATCHES + 1)
    slow = 2 * 0.3 * BATCHES + 0.3
    assert found.batches == pytest.approx(slow / ideal, rel=0.03)
    assert not found.close
    assert found.slowest is not None
    assert found.slowest > 1.3
    assert found.slowest_authors is None
    document = traces.document(folder)
    assert not document["close"]
    assert document["traces"][0]["batches_error"] == pytest.approx(found.batches - 1, abs=1e-4)


def test_the_authors_slowest_workers_are_read_where_the_folder_has_them(folder):
    worst = {"tori": 3.0, "trem": 2.0}
    (folder / "mw-XX.json").write_text(json.dumps(worst))
    (found,) = traces.slowdowns(folder)
    assert found.slowest_authors == 1.5
