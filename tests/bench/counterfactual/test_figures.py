"""Figures of the meter: errors against the truth, and how often intervals hold it."""

import pytest

from bench.counterfactual.__main__ import main
from bench.counterfactual.episodes import FAULTS, RANKS, drawn
from bench.counterfactual.figures import MeasuredCase, groups, summary
from bench.counterfactual.worlds import mean
from rankscope.vocabulary import faults
from rankscope.vocabulary.counterfactuals import StepComparison, StepTimeWithout


def case(*, estimate=1.0, margin=0.05, right=True, basis="phases"):
    low, high = estimate - margin, estimate + margin
    named = "gpu.slow" if right else "unknown"
    return MeasuredCase("a/0", "gpu.slow", named, right, basis, 1.5, 1.0, estimate, low, high)


def test_errors_and_coverage_are_shares_of_the_truth():
    found = summary([case(), case(estimate=1.02), case(estimate=0.9), case(estimate=1.1)])
    assert found["median_error"] == pytest.approx(0.06)
    assert (found["cases"], found["covered"], found["coverage"]) == (4, 2, 0.5)
    assert found["median_half_width"] == pytest.approx(0.05)


def test_cases_are_counted_by_basis_and_by_whether_the_cause_is_right():
    rows = [case(), case(right=False), case(basis="durations")]
    found = {name: row["cases"] for name, row in groups(rows).items()}
    assert found == {
        "all": 3,
        "right cause": 2,
        "phases": 2,
        "phases, right cause": 1,
        "durations": 1,
        "durations, right cause": 1,
    }


def test_the_truth_is_of_the_very_same_steps_without_what_is_no_step():
    steps = {**dict.fromkeys(range(10, 30), 1.0), 12: 60.0, 9: 7.0}
    compared = StepComparison(1.5, StepTimeWithout(1, 1, 1), "phases", 10, 29, 0.0)
    assert mean(steps, compared) == 1.0
    assert mean(dict.fromkeys(range(10, 20), 1.0), compared) is None


def test_real_episodes_have_each_shape_and_fault_and_are_the_same_for_all_ranks():
    rows = list(drawn(26, 3))
    assert rows == list(drawn(26, 3))
    assert {row.fault for row in rows} == set(FAULTS.values()) <= set(faults.catalogue())
    assert {row.shape for row in rows} == {"data", "tensor", "pipeline"}
    assert all(row.shape == "pipeline" for row in rows if row.trouble == "stage")
    assert all(0 <= rank < RANKS for row in rows for rank in row.ranks)


def test_some_kinds_of_real_jobs_are_run_in_turn():
    kinds = ["pipeline-stage", "tensor-pauses"]
    names = [episode.job for episode in drawn(3, 1, kinds)]
    assert names == ["pipeline-stage-0", "tensor-pauses-1", "pipeline-stage-2"]


def test_a_kind_that_is_none_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["real", "--kinds", "data-stage"])
    assert "data-slow-rank, data-slow-exchange" in capsys.readouterr().err
