"""The capacity model: fitted to what is linear it says what is linear, and the page shows it."""

import math
from dataclasses import replace

import pytest

from bench.capacity import model, page
from bench.capacity.runs import JobSize, SizeRun, measured


def run(ranks, period, *, a_sample=1e-6, a_rank=2e-6, constant=0.01):
    samples = ranks * 37 / period
    cores = constant + a_sample * samples + a_rank * ranks
    return SizeRun(
        JobSize(ranks, period), ranks * 37, samples, ranks / 80, cores, ranks * 37 * 500, 3.0
    )


def test_a_linear_cost_is_found_and_goes_on_at_the_largest_size():
    runs = [run(ranks, period) for ranks in (64, 1024, 4096, 16384) for period in (10, 30)]
    most, others = model.largest(runs)
    fit = model.fitted(others)
    assert fit.a_sample == pytest.approx(1e-6)
    assert fit.a_rank == pytest.approx(2e-6)
    assert fit.bytes_a_series == pytest.approx(500)
    for _, cpu, memory in model.errors(fit, most):
        assert abs(cpu) < 1e-6
        assert abs(memory) < 1e-6


def test_a_cluster_needs_a_collector_for_each_share_of_a_core():
    fit = model.CapacityModel(0.0, 1e-6, 0.0, 500.0, 3.0, a_message=1e-3)
    wanted = model.needs(fit, 1_000_000, series_a_rank=37, period=10)
    assert wanted.cores == pytest.approx(3.7 + 125.0)
    assert wanted.collectors == 215  # each 0.6 of a core
    assert wanted.cores_joined == pytest.approx(3.7 + 1.25)
    assert wanted.collectors_joined == 9
    assert wanted.journal_bytes_a_second == pytest.approx(11.1e6)


def test_the_page_says_how_far_the_model_is_off_at_the_largest_size():
    runs = [run(64, 10), run(64, 30), run(1024, 10), run(1024, 30), run(4096, 10, constant=0.05)]
    fit = model.fitted(model.largest(runs)[1])
    machine = {"processor": "x", "cores": 2, "load_average": [0.0], "python": "3.11"}
    fit = replace(fit, a_message=2e-3)
    wanted = model.needs(fit, 10_000, series_a_rank=37, period=10)
    text = page.page(runs, fit, [wanted], machine)
    assert "4,096 ranks, the largest, took no part in the fit" in text
    row = next(line for line in text.splitlines() if line.startswith("| 10,000 |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    direct, joined = wanted.cores, wanted.cores_joined
    assert cells[3:7] == [
        f"{direct:.2f}", f"{math.ceil(direct / 0.6)}", f"{joined:.2f}", f"{math.ceil(joined / 0.6)}"
    ]  # fmt: skip


def test_a_run_goes_through_the_stages_of_a_collector():
    found = measured(JobSize(16, 5), seconds=10, warm=5)
    assert found.samples_a_second == pytest.approx(2 * (16 * 34 + 2 * 3) / 10, rel=0.2)
    assert found.cpu_cores > 0
    assert found.window_bytes > 0
    assert found.journal_bytes_a_sample > 0
