"""What a job would gain without its slowest ranks or hosts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.detectors.counterfactual.slowest import StepsWithoutSlowest, without_slowest
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import JobWindow
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement

EXCHANGE = 0.2
STEPS = 60


def found(window: JobWindow, place: str = "rank") -> StepsWithoutSlowest:
    """Return the steps of a window without its slowest places."""
    steps = without_slowest(window, "host" if place == "host" else "rank")
    assert steps is not None
    return steps


def healthy_step(own: np.ndarray) -> float:
    """Return how long the steps of a sketch take without any change (s)."""
    return float((own.max(axis=0) + EXCHANGE).mean())


def test_without_its_slowest_rank_a_job_is_as_fast_as_its_peers_allow(steady):
    own = steady(16, STEPS)
    expected = healthy_step(own)
    own[3] *= 1.4
    steps = found(sketch(own))
    assert steps.places[0].number == 3
    assert steps.removed[1].step_seconds == pytest.approx(expected, rel=0.01)
    assert steps.removed[1].low <= expected <= steps.removed[1].high


def test_of_two_slow_ranks_neither_gains_alone_and_both_gain_together(steady):
    own = steady(16, STEPS)
    expected = healthy_step(own)
    own[3] *= 1.4
    own[8] *= 1.39
    steps = found(sketch(own))
    assert [3, 8] == [place.number for place in steps.places[:2]]
    assert steps.removed[1].step_seconds > 0.97 * steps.step_seconds
    assert steps.removed[2].step_seconds == pytest.approx(expected, rel=0.01)


def test_a_host_is_taken_away_with_all_of_its_ranks(steady):
    own = steady(32, STEPS)
    expected = healthy_step(own)
    own[8:12] *= 1.3
    steps = found(sketch(own, hosts=8), "host")
    assert steps.places[0].number == 2
    assert steps.places[0].without == steps.removed[1]
    assert steps.removed[1].step_seconds == pytest.approx(expected, rel=0.01)


def test_more_taken_away_never_costs_more_than_the_interval_allows(steady):
    own = steady(64, STEPS)
    own[:7] *= np.linspace(1.5, 1.1, 7)[:, None]
    removed = found(sketch(own)).removed
    assert [1, 2, 5] == list(removed)
    assert removed[1].step_seconds > removed[2].step_seconds > removed[5].step_seconds


def test_a_healthy_job_gains_about_nothing(steady):
    steps = found(sketch(steady(64, STEPS)))
    assert steps.removed[5].step_seconds > 0.97 * steps.step_seconds


def test_a_rank_with_more_tokens_is_not_slow(steady):
    own = steady(16, STEPS, spread=0.002)
    tokens = np.full(own.shape, 1000.0)
    tokens[5] = 1500.0
    tokens += np.arange(STEPS) % 7 * 40
    own = own * tokens / 1000
    own[9] *= 1.2
    steps = found(sketch(own, planes={"training.tokens": tokens}))
    assert steps.places[0].number == 9


def test_a_stage_is_compared_with_its_own_and_one_alone_with_nobody(steady):
    """Two stages of two ranks: the second takes twice as long, and no rank of it is slow."""
    own = steady(4, STEPS, spread=0.001)
    own[2:] *= 2
    placed = JobTopology(
        Job("example"),
        placements=[
            RankPlacement(rank, "host-0", dp=rank % 2, tp=0, pp=rank // 2) for rank in range(4)
        ],
    )
    window = sketch(own, hosts=2, placed=placed, role_of=np.arange(4) // 2)
    assert found(window).removed[1].step_seconds > 0.99 * found(window).step_seconds
    assert {} == found(window, "host").removed


def test_nothing_is_said_where_nobody_reports_parts_of_steps_or_of_few_steps(steady):
    own = steady(8, STEPS)
    window = sketch(own)
    step = "training.step.duration"
    bare = type(window.steps)(
        window.steps.index, window.steps.at, {step: window.steps.planes[step]}
    )
    assert without_slowest(sketch(own, steps=bare), "rank") is None
    assert without_slowest(sketch(own[:, :4]), "rank") is None


@given(
    st.integers(0, 9), st.integers(0, 40), st.floats(0.0, 0.9), st.sampled_from(["rank", "host"])
)
def test_whatever_is_missing_an_answer_holds_together(ranks, steps, lost, place):
    """Never an error, never a gain below nothing, and each estimate inside its interval."""
    random = np.random.default_rng([ranks, steps])
    own = random.lognormal(0.0, 0.1, (ranks, steps))
    own[random.random(own.shape) < lost] = np.nan
    window = sketch(own, planes={"training.data.duration": own * 0.1})
    answer = without_slowest(window, place)
    if answer is not None:
        for one in answer.removed.values():
            assert 0 <= one.low <= one.step_seconds <= one.high
            assert one.step_seconds <= answer.step_seconds
