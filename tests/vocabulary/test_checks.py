"""The table of active checks: what a result weighs follows from how often it comes about."""

import math

import pytest

from rankscope.checks.measurements import MEASUREMENTS
from rankscope.vocabulary import checks, tables
from rankscope.vocabulary.checks import ActiveCheck

CHECKS = checks.runnable()

ROW = """
[[check]]
name = "x"
help = "h"
unit = "s"
better = "less"
about = "host"
seconds = 1
devices = "none"
causes = [{ fault = "gpu.slow", found = 0.9 }]
blind = "b"
"""


def test_each_check_of_the_table_can_be_measured_and_nothing_else():
    assert set(MEASUREMENTS) == set(CHECKS)


@pytest.mark.parametrize("check", CHECKS.values(), ids=str)
def test_a_bad_result_speaks_for_its_causes_and_a_passed_one_against_them(check):
    for cause in check.causes:
        bad, passed = check.weights(cause.fault)
        assert bad > 0 > passed


@pytest.mark.parametrize("check", CHECKS.values(), ids=str)
def test_without_comparison_a_limit_decides(check):
    assert check.compared or check.limit is not None


def test_a_result_says_nothing_of_causes_that_its_check_cannot_show():
    assert (0.0, 0.0) == CHECKS["matmul"].weights("host.clock_skew")


def test_weights_are_the_ratio_of_how_often_a_result_comes_about():
    bad, passed = CHECKS["matmul"].weights("gpu.slow")
    assert (bad, passed) == pytest.approx((math.log(0.9 / 0.02), math.log(0.1 / 0.98)))


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        (("0.9", "1.0"), "write a probability"),
        (("gpu.slow", "gpu.slov"), "did you mean gpu.slow"),
        (("less", "lower"), "write more or less"),
    ],
)
def test_a_mistake_in_the_table_is_said_in_words(instead, said):
    with pytest.raises(tables.TableError, match=said):
        tables.rows(ActiveCheck, ROW.replace(*instead), "check")


def test_what_other_tools_report_is_never_run_here():
    tools = set(checks.catalogue()) - set(CHECKS)
    assert tools
    assert all(name.startswith("tool_") for name in tools)
    assert all(check.unit and check.seconds for check in CHECKS.values())
