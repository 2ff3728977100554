"""Memory that lines of a log name: a leak grows to the end, a cache fills and stays full."""

import math
import random

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import held_memory
from rankscope.formats.training_logs import memory_columns

FORMS = {
    "rss": (True, lambda n, b: f"iter {n}0: loss 2.1 | RSS {b / 2**30:.2f} GB"),
    "percent": (True, lambda n, b: f"Epoch {n}: loss=2.1, RAM used {b / 2**30:.1f}%"),
    "psutil": (True, lambda n, b: f"end Current memory usage: {b / 2**20:.2f} MB"),
    "device": (False, lambda n, b: f"step {n} loss 2.1 gpu_mem {b / 2**30:.2f}G"),
    "allocator": (False, lambda n, b: f"{n} allocated: {b / 2**20:.0f} MB reserved: 9000 MB"),
    "bare": (False, lambda n, b: f"[1][{n}0/900] time: 1.2  memory: {b / 2**20:.0f}  loss: 2.1"),
    "own line": (False, lambda n, b: f"GPU memory: current {b / 2**30:.3f} GB, peak 19.00 GB"),
}  # fmt: skip


def grown(held, form="rss"):
    lines = [FORMS[form][1](n, size * 2**30) for n, size in enumerate(held, 1)]
    columns = memory_columns.read(lines, held_memory.FEWEST)
    return [(one.host, rows[-1].line) for one in columns if (rows := held_memory.growing(one))]


@pytest.mark.parametrize("form", FORMS)
def test_what_grows_to_the_end_is_told_of_the_host_or_the_device_in_any_form(form):
    assert [(FORMS[form][0], 20)] == grown([10 + 1.5 * n for n in range(20)], form)


def _noise(count, width):
    draw = random.Random(5)
    return [draw.uniform(-width, width) for _ in range(count)]


@pytest.mark.parametrize("held", [
    [20 * (1 - math.exp(-n / 4)) for n in range(40)],
    [min(4 + 0.8 * n, 14) for n in range(40)],
    [10 + one for one in _noise(40, 2)],
    [10.0] * 20 + [16.0] * 20,
    [10 + 0.01 * n for n in range(40)],
    [10 + 1.5 * n for n in range(8)],
    [10, 12, 15, 18, 11, 13, 15, 18, 11, 12, 15, 18, 10, 13, 16, 18],
], ids=[
    "it flattens", "a cache is full", "noise", "one step", "little", "too few", "given back",
])  # fmt: skip
def test_what_fills_and_stays_or_goes_up_and_down_is_none(held):
    assert [] == grown(held)


def test_what_the_run_before_held_is_not_compared():
    before = [10 + 1.5 * n for n in range(20)]
    assert [(True, 40)] == grown(before + before)
    assert [] == grown(before + [10.0] * 20)


@pytest.mark.parametrize("line", [
    "Caching images ({}GB ram)", "total memory: {} GB", "memory limit {} GB", "memory_loss {}.1",
    "free memory {} GB", "Tried memory {} GB",
])  # fmt: skip
def test_other_words_of_memory_are_no_column(line):
    assert [] == memory_columns.read([line.format(9 + n) for n in range(30)], 2)


@pytest.mark.parametrize(
    ("form", "fault"), [("rss", "memory.host_leak"), ("device", "memory.gpu_leak")]
)
def test_a_leak_is_the_cause_where_nothing_else_is(explain, tmp_path, form, fault):
    lines = [FORMS[form][1](n, (10 + 1.5 * n) * 2**30) for n in range(1, 21)]
    (tmp_path / "job.log").write_text("\n".join(lines))
    diagnosis = explain(tmp_path)
    assert fault == said(diagnosis)[0]
    (quote,) = diagnosis.leftovers()["lines"]
    assert 20 == quote["line"]
