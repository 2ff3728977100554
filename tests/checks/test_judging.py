"""A verdict: worse than its like by more than they differ, by more than chance, or not measured."""

import random

import pytest

from rankscope.checks import judging
from rankscope.checks.judging import ComparedValues
from rankscope.checks.measurements.rows import MeasuredRow
from rankscope.vocabulary.checks import catalogue

MATMUL = catalogue()["matmul"]
CLOCK = catalogue()["clock"]


def row(value, *, spread=0.002, count=40, seed=1, **more):
    draw = random.Random(seed)
    samples = tuple(value * draw.gauss(1, spread) for _ in range(count))
    return MeasuredRow("GPU-1", samples, "model", **more)


def fleet(value=100.0, *, spread=0.005, count=12, seed=2):
    draw = random.Random(seed)
    values = tuple(value * draw.gauss(1, spread) for _ in range(count))
    return ComparedValues(values, f"{count} hosts of its kind")


def test_a_device_like_the_others_passes():
    judged = judging.judge(MATMUL, row(99.0), fleet=fleet())
    assert ("pass", "12 hosts of its kind") == (judged.verdict, judged.compared_with)
    low, high = judged.interval or (0.0, 0.0)
    assert low < (judged.value or 0.0) < high


def test_a_device_a_tenth_slower_is_slow_and_the_reason_says_by_how_much():
    judged = judging.judge(MATMUL, row(90.0), fleet=fleet())
    assert "slow" == judged.verdict
    assert judged.reason.startswith("10% below ")


def test_better_than_the_others_is_no_fault():
    assert "pass" == judging.judge(MATMUL, row(140.0), fleet=fleet()).verdict


def test_where_the_others_differ_much_a_tenth_is_nothing():
    assert "pass" == judging.judge(MATMUL, row(90.0), fleet=fleet(spread=0.05)).verdict


def test_repeats_that_differ_too_much_leave_it_open():
    judged = judging.judge(MATMUL, row(92.0, spread=0.2, count=12, seed=3), fleet=fleet())
    assert "not_measured" == judged.verdict
    assert "repeats differ" in judged.reason


def test_a_pass_on_a_cpu_that_others_used_says_that_no_quota_would_have_been_seen() -> None:
    judged = judging.judge(MATMUL, row(100.0, waited=0.4), fleet=fleet())
    assert "pass" == judged.verdict
    assert "no quota: other processes had the CPU 40% of the time" in judged.reason
    assert "slow" == judging.judge(MATMUL, row(80.0, waited=0.4), fleet=fleet()).verdict


def test_a_pass_says_how_small_a_slowdown_would_have_been_seen() -> None:
    sharp = judging.judge(MATMUL, row(99.0, spread=0.001), fleet=fleet(spread=0.001))
    blunt = judging.judge(MATMUL, row(99.0, spread=0.06, seed=4), fleet=fleet(spread=0.001))
    assert "within 5% of the expected value; it would have seen 5%" == sharp.reason
    assert "pass" == blunt.verdict
    assert blunt.reason.endswith("it would have seen 10%")


def test_where_hardly_anything_would_have_been_seen_it_is_not_measured() -> None:
    judged = judging.judge(MATMUL, row(99.0, spread=0.3, count=8), fleet=fleet())
    assert "not_measured" == judged.verdict
    assert "its repeats differ too much to tell: it would have seen" in judged.reason


def test_the_doubt_of_both_sides_counts() -> None:
    doubtful = ComparedValues((100.0,), "the peer", doubt=4.0)
    assert "slow" == judging.judge(MATMUL, row(90.0), peer=ComparedValues((100.0,), "p")).verdict
    assert "not_measured" == judging.judge(MATMUL, row(90.0), peer=doubtful).verdict


def test_a_slow_value_counts_where_the_peer_was_as_crowded() -> None:
    crowded = ComparedValues((100.0,), "the peer", others=0.8)
    assert "slow" == judging.judge(MATMUL, row(90.0, others=0.85), peer=crowded).verdict
    assert "not_measured" == judging.judge(MATMUL, row(90.0, others=0.95), peer=crowded).verdict


def test_what_others_had_of_the_host_meanwhile_excuses_what_is_slow_and_nothing_else():
    judged = judging.judge(MATMUL, row(80.0, others=0.6), fleet=fleet())
    assert "not_measured" == judged.verdict
    assert "60% of all CPUs" in judged.reason
    assert "pass" == judging.judge(MATMUL, row(100.0, others=0.6), fleet=fleet()).verdict


def test_time_that_a_quota_kept_is_named():
    judged = judging.judge(MATMUL, row(80.0, withheld=0.2), fleet=fleet())
    assert "slow" == judged.verdict
    assert "quota or the hypervisor kept 20%" in judged.reason


def test_with_nobody_to_compare_with_the_value_is_given_and_nothing_guessed():
    judged = judging.judge(MATMUL, row(50.0), fleet=fleet(count=4))
    assert "not_measured" == judged.verdict
    assert judged.value == pytest.approx(50.0, rel=0.01)
    assert "4 of the 5 hosts" in judged.reason


def test_the_peer_of_the_same_minute_goes_before_the_fleet():
    peer = ComparedValues((50.0,), "gpu-7 in the same minute")
    judged = judging.judge(MATMUL, row(50.0), peer=peer, fleet=fleet())
    assert ("pass", "gpu-7 in the same minute") == (judged.verdict, judged.compared_with)


def test_devices_beside_it_are_compared_with_where_there_is_no_fleet():
    beside = ComparedValues((100.0,) * 7, "7 devices beside it")
    assert "slow" == judging.judge(MATMUL, row(88.0), beside=beside).verdict


def test_a_limit_holds_whoever_measures():
    late = MeasuredRow("clock", (0.4,))
    judged = judging.judge(CLOCK, late)
    assert ("failed", "400 ms; the limit is 100 ms") == (judged.verdict, judged.reason)
    assert "pass" == judging.judge(CLOCK, MeasuredRow("clock", (0.001,))).verdict


def test_what_could_not_be_measured_says_why():
    missing = judging.judge(MATMUL, MeasuredRow("", missing="no torch"))
    failed = judging.judge(MATMUL, MeasuredRow("", failed="it was killed by SIGKILL"))
    nothing = judging.judge(MATMUL, MeasuredRow("GPU-1", (float("nan"),)))
    assert ("not_measured", "no torch") == (missing.verdict, missing.reason)
    assert ("failed", "it was killed by SIGKILL") == (failed.verdict, failed.reason)
    assert "not_measured" == nothing.verdict


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("pass", "slow", "failed"), "failed"),
        (("pass", "slow"), "slow"),
        (("pass", "not_measured"), "pass"),
        (("not_measured",), "not_measured"),
        ((), "not_measured"),
    ],
)
def test_the_node_has_the_worst_verdict_and_what_nobody_measured_is_no_fault(verdicts, expected):
    rows = [judging.JudgedCheck("matmul", "cpu", None, "s", verdict, "") for verdict in verdicts]
    assert expected == judging.overall(rows)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2.04e9, "By/s", "2.04 GB/s"),
        (1.2e14, "{operation}/s", "120 TFLOP/s"),
        (0.34, "s", "340 ms"),
        (9e-6, "s", "9 us"),
        (3.0, "s", "3 s"),
        (0.0, "{product}", "0 products"),
        (5.0, "By/s", "5 B/s"),
    ],
)
def test_values_are_shown_as_people_say_them(value, unit, expected):
    assert expected == judging.shown(value, unit)
