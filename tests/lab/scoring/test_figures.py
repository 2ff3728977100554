"""Many cases together."""

import dataclasses
import math

import pytest

from rankscope.lab.scoring import figures
from rankscope.vocabulary import entities

GPU = entities.gpu("GPU-3", "gpu-00", (3,))
OTHER = entities.host("gpu-09", range(72, 80))


@pytest.fixture
def suite(incident, truth, result):
    """Three found of four visible faults, one at the wrong entity; a hidden one; two healthy."""
    return figures.scored(
        [
            result(truth(), [incident(4.0, GPU)], name="a"),
            result(truth(), [incident(8.0, GPU, fault="unknown")], name="b", strength="weak"),
            result(truth(), [incident(20.0, OTHER)], name="c", shape="large"),
            result(truth(), [], name="d", strength="weak"),
            result(truth(), [], name="e", observable=False),
            result(None, [incident(5.0, severity="critical")], name="f"),
            result(None, [], name="g"),
        ]
    )


def test_the_figures_of_a_suite(suite):
    made = figures.figures(suite)
    assert (7, 4, 3, 1, 0, 2) == (
        made.cases, made.observable, made.found, made.unobservable, made.unobservable_found,
        made.healthy,
    )  # fmt: skip
    assert pytest.approx(3 / 4) == made.recall
    assert pytest.approx(3 / 4) == made.precision
    assert pytest.approx(3 / 4) == made.f1
    assert pytest.approx(2 / 3) == made.right_entity
    assert pytest.approx(1 / 3) == made.right_cause
    assert pytest.approx(1 / 4) == made.wrong_accusations
    assert pytest.approx(1 / 7) == made.cases_with_wrong_accusation


def test_false_incidents_are_counted_by_healthy_time(suite):
    made = figures.figures(suite)
    assert pytest.approx(0.02) == made.healthy_job_days
    assert pytest.approx(50.0) == made.false_per_job_day
    assert pytest.approx(1000 / (0.02 * 8)) == made.false_pages_per_1000_gpu_days


def test_delays_are_quantiles_in_seconds_and_steps(suite):
    made = figures.figures(suite)
    assert (8.0, 20.0, 20.0) == (
        made.delay_seconds.p50, made.delay_seconds.p90, made.delay_seconds.p99,
    )  # fmt: skip
    assert pytest.approx(4.0) == made.delay_steps.p50


def test_a_share_of_nothing_is_nan_and_none_in_the_document():
    made = figures.figures([])
    assert math.isnan(made.recall)
    assert made.document()["recall"] is None
    assert made.document()["delay_seconds"] == {"p50": None, "p90": None, "p99": None}


def test_cases_are_broken_down_by_what_was_drawn(suite):
    weak = figures.broken_down(suite, figures.BREAKDOWNS["strength"])["weak"]
    assert ["b", "d"] == [row.result.case["name"] for row in weak]
    assert {"gpu.slow": 5, "healthy": 2} == {
        name: len(rows)
        for name, rows in figures.broken_down(suite, figures.BREAKDOWNS["fault"]).items()
    }


def test_the_confusion_matrix_leaves_out_what_nobody_can_see(suite):
    matrix = figures.confusion(suite)
    assert {"gpu.slow": 2, "unknown": 1, "none": 1} == dict(matrix["gpu.slow"])
    assert {"gpu.slow": 1, "none": 1} == dict(matrix["healthy"])


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2.0), (0.9, 4.0), (0.0, 1.0)])
def test_a_quantile_is_one_of_the_values(share, expected):
    assert expected == figures.quantile([4.0, 1.0, 3.0, 2.0], share)


def test_a_case_that_raised_has_no_outcome(result):
    assert [] == figures.scored([dataclasses.replace(result(None, error="Traceback"), found={})])
