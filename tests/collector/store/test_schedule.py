"""When a failed delivery is tried again."""

import random

from hypothesis import given
from hypothesis import strategies as st

from rankscope.collector.store import schedule


def test_the_attempts_cover_a_little_more_than_three_days():
    assert 72 <= sum(schedule.DELAYS_SECONDS) / 3600 <= 80
    assert sorted(schedule.DELAYS_SECONDS) == list(schedule.DELAYS_SECONDS)


def test_two_flaky_answers_delay_a_page_by_seconds():
    """At least four attempts lie in the first minute, with the longest jitter."""
    ends = [sum(schedule.DELAYS_SECONDS[: n + 1]) * (1 + schedule.JITTER) for n in range(6)]
    assert 4 <= sum(end < 60 for end in ends)
    assert ends[2] < 15


@given(
    attempts=st.integers(1, len(schedule.DELAYS_SECONDS) - 1),
    retry_after=st.none() | st.floats(0, 86400),
    seed=st.integers(0, 1000),
)
def test_nobody_is_asked_sooner_than_they_wish_or_the_schedule_says(attempts, retry_after, seed):
    due = schedule.next_due(attempts, now=0.0, retry_after=retry_after, chance=random.Random(seed))
    delay = schedule.DELAYS_SECONDS[attempts]
    assert due is not None
    assert delay <= due <= max(delay * (1 + schedule.JITTER), retry_after or 0.0)
    assert due >= (retry_after or 0.0)


def test_after_the_last_attempt_it_is_given_up():
    assert (
        schedule.next_due(
            len(schedule.DELAYS_SECONDS), now=0.0, retry_after=5.0, chance=random.Random(0)
        )
        is None
    )
