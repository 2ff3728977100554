import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.agent.baselines import SAVE_SECONDS, CounterBaselines


@pytest.fixture
def path(tmp_path):
    return tmp_path / "counters.json"


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_a_total_never_goes_backwards_whatever_the_hardware_says(raws):
    kept = CounterBaselines(None)
    steps = [kept.advance("a", raw) for raw in raws]
    totals = [step.total for step in steps]
    assert totals == sorted(totals)
    assert totals[-1] - totals[0] == sum(step.grown for step in steps)


def test_a_reset_goes_on_from_where_the_counter_was():
    kept = CounterBaselines(None)
    steps = [kept.advance("a", raw) for raw in (100, 150, 7, 9)]
    assert [step.total for step in steps] == [100, 150, 157, 159]
    assert [step.reset for step in steps] == [False, False, True, False]


def test_what_was_counted_before_the_first_reading_is_no_news():
    step = CounterBaselines(None).advance("a", 12345)
    assert (step.grown, step.known) == (0, False)


def test_totals_and_news_survive_a_restart_of_the_agent(path):
    first = CounterBaselines(path, boot="b1")
    for raw in (100, 40):
        first.advance("a", raw)
    first.close()
    step = CounterBaselines(path, boot="b1").advance("a", 45)
    assert (step.total, step.grown, step.known) == (145, 5, True)


def test_after_another_boot_the_total_goes_on_and_nothing_is_news(path):
    first = CounterBaselines(path, boot="b1")
    first.advance("a", 100)
    first.close()
    second = CounterBaselines(path, boot="b2")
    step = second.advance("a", 3)
    assert (step.total, step.grown, step.known) == (103, 0, False)
    assert second.advance("a", 5).grown == 2


def test_it_is_saved_at_most_every_half_minute_but_a_reset_at_once(path):
    kept = CounterBaselines(path)
    kept.advance("a", 1)
    kept.keep(1000.0)
    kept.advance("a", 2)
    kept.keep(1000.0 + SAVE_SECONDS / 2)
    assert json.loads(path.read_text())["counters"] == {"a": [1, 0]}
    kept.advance("a", 0)
    kept.keep(1001.0 + SAVE_SECONDS / 2)
    assert json.loads(path.read_text())["counters"] == {"a": [0, 2]}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"boot": "b", "counters": {"a": 1}}', '{"counters": {}}', "\xff"],
)
def test_a_file_that_is_torn_or_foreign_is_started_over(path, text):
    path.write_text(text, encoding="latin-1")
    kept = CounterBaselines(path, boot="b")
    assert kept.advance("a", 5).total == 5
    kept.close()
    assert CounterBaselines(path, boot="b").advance("a", 6).grown == 1


def test_a_folder_that_may_not_be_written_costs_only_the_memory(tmp_path):
    kept = CounterBaselines(tmp_path / "absent" / "counters.json")
    kept.advance("a", 1)
    kept.keep(0.0)
    assert kept.advance("a", 2).total == 2
