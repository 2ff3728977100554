from hypothesis import example, given
from hypothesis import strategies as st

from rankscope.agent.storms import StormFolding


def test_the_first_is_told_at_once_and_repeats_are_one_number_a_minute():
    storms: StormFolding[str] = StormFolding()
    assert 1 == storms.take("95", 100.0)
    assert 0 == sum(storms.take("95", 100.0 + number / 1000) for number in range(1, 1000))
    assert [] == storms.due(159.9)
    assert [("95", 999)] == storms.due(160.0)
    assert [] == storms.due(161.0)


def test_a_different_code_inside_a_storm_is_told_at_once():
    storms: StormFolding[str] = StormFolding()
    told = [storms.take("79" if number == 500 else "95", 100.0) for number in range(1000)]
    assert {0: 1, 500: 1} == {place: count for place, count in enumerate(told) if count}


def test_after_a_quiet_minute_the_next_is_a_first_again():
    storms: StormFolding[str] = StormFolding()
    storms.take("95", 100.0)
    assert [] == storms.due(165.0)
    assert 1 == storms.take("95", 166.0)


def test_one_that_comes_when_the_minute_is_over_brings_what_was_folded():
    storms: StormFolding[str] = StormFolding()
    storms.take("95", 100.0)
    storms.take("95", 110.0, by=4)
    assert 5 == storms.take("95", 161.0)
    assert not storms.due(161.0)


def test_a_clock_that_was_set_back_tells_rather_than_folds():
    storms: StormFolding[str] = StormFolding()
    storms.take("95", 1000.0)
    assert 1 == storms.take("95", 10.0)


def test_ten_thousand_keys_are_followed_in_bounded_memory_and_none_is_lost():
    storms: StormFolding[int] = StormFolding(most=100)
    told = sum(storms.take(key, 100.0) for key in range(10_000) for _ in range(3))
    assert len(storms) <= 100
    assert 30_000 == told + sum(count for _, count in storms.due(200.0))


@given(
    st.lists(st.tuples(st.integers(0, 20), st.floats(0, 30)), max_size=200), st.integers(1, 8)
)  # fmt: skip
@example(arrivals=[(0, 4.843151622568973), (0, 0.0)], most=1)  # 60 s later rounds to less than 60 s
def test_every_occurrence_is_told_sooner_or_later(arrivals, most):
    storms: StormFolding[int] = StormFolding(most=most)
    now, told = 0.0, 0
    for key, later in arrivals:
        now += later
        told += storms.take(key, now)
        told += sum(count for _, count in storms.due(now))
    told += sum(count for _, count in storms.due(now + 60.0))
    assert len(arrivals) == told
    assert not storms.waiting
