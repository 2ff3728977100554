"""Delays against their limits, and leaks against how fast they are."""

from dataclasses import replace

import pytest

from rankscope.lab.scoring import figures, limits


@pytest.fixture
def scored(incident, truth, result):
    """Return a function that scores one case of a fault that was reported after some seconds."""

    def made(fault, after, **effects):
        found = [incident(at, fault=fault) for at in after]
        (row,) = figures.scored([result(truth(fault, **effects), found)])
        return row

    return made


def test_the_longer_of_seconds_and_steps_is_the_limit_plus_one_report(scored):
    row = scored("gpu.slow", [16.0], slower_10=0.0)
    (quick,) = (limit for limit in limits.limits() if limit.holds(row))
    steps = 5 * row.result.step_seconds
    assert max(15.0, steps) == quick.seconds_of(row)
    row = replace(row, result=replace(row.result, case={**row.result.case, "report_seconds": 9}))
    assert max(15.0, steps) + 9 == quick.granted(row)


def test_a_non_finite_value_has_a_step_and_a_second(scored):
    row = scored("numerics.nan_rank", [1.0], nonfinite=0.0)
    (quick,) = (limit for limit in limits.limits() if limit.holds(row))
    assert 1.0 + row.result.step_seconds == quick.seconds_of(row)


def test_a_delay_counts_from_the_effect_and_not_from_the_start_of_a_ramp(scored):
    row = scored("gpu.thermal_throttle", [45.0], slower_5=25.0, slower_10=40.0)
    (quick,) = (limit for limit in limits.limits() if limit.holds(row))
    assert ("straggler of 10 % or more", 5.0) == (quick.name, quick.delay(row))
    (early,) = limits.delays([scored("gpu.thermal_throttle", [30.0], slower_10=40.0)])
    assert (0.0, 1.0) == (early["worst"], early["within"])


def test_the_other_count_begins_with_the_first_report_that_can_show_the_effect(scored):
    row = scored("gpu.slow", [30.0], slower_10=0.0)
    known = row.result.truth
    assert [0.0] == [one["within_after_report"] for one in limits.delays([row])]  # none arrived
    shown = replace(known, shown={"slower_10": known.onset + 20.0})
    row = replace(row, result=replace(row.result, truth=shown))
    (line,) = limits.delays([row])
    assert (0.0, 1.0, 10.0) == (line["within"], line["within_after_report"], line["after_report"])


def test_a_straggler_that_never_reaches_ten_per_cent_has_the_limit_of_five(scored):
    row = scored("gpu.slow", [50.0], slower_5=0.0)
    assert ["straggler of 5 %"] == [one.name for one in limits.limits() if one.holds(row)]
    assert [] == limits.delays([scored("gpu.slow", [50.0])])


def test_what_is_late_or_missed_is_not_within_its_limit(scored):
    rows = [scored("memory.host_leak", after) for after in ([100.0], [400.0], [])]
    (line,) = limits.delays(rows)
    assert ("leak of 1 % a minute or more", 3, 2, 400.0) == (
        line["limit"], line["cases"], line["found"], line["worst"],
    )  # fmt: skip
    assert 1 / 3 == pytest.approx(line["within"])


def test_the_error_of_a_leak_is_that_of_its_growth(incident, truth, result):
    leaks = replace(truth("memory.host_leak"), growth=100.0)
    rows = figures.scored(
        [
            result(leaks, [incident(100.0, fault="memory.host_leak", growth=growth)])
            for growth in (80.0, 95.0, 400.0, None)
        ]
    )
    (line,) = limits.exhaustion(rows)
    assert (3, 0.25, 0.75) == (line["measured"], line["median"], line["worst"])
    assert 2 / 3 == pytest.approx(line["within"])


def test_every_limit_is_of_faults_that_there_are():
    from rankscope.vocabulary import faults  # noqa: PLC0415

    assert {fault for limit in limits.limits() for fault in limit.faults} <= set(faults.catalogue())
