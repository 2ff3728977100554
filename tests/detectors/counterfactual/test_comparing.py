"""The newest steps of a job as they are and without a cause: by its peers, or by what was."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.detectors.counterfactual.comparing import compared
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import JobWindow
from rankscope.vocabulary.counterfactuals import StepComparison
from rankscope.vocabulary.ids import Fault, Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement

SLOW, REGRESSED = Fault("gpu.slow"), Fault("software.regression")
EXCHANGE = 0.2


def onset_of(window: JobWindow, column: int) -> float:
    """Return when a step of a sketch began."""
    return float(window.steps.at[0, column - 1])


def measured(window: JobWindow, fault: Fault, ranks: Iterable[int], column: int) -> StepComparison:
    """Return the steps from a column on, with and without a fault."""
    found = compared(window, fault, ranks, onset_of(window, column))
    assert found is not None
    return found


def healthy_step(own: np.ndarray, columns: slice) -> float:
    """Return how long the steps of a sketch take without any change (s)."""
    return float((own[:, columns].max(axis=0) + EXCHANGE).mean())


def test_a_slow_rank_is_replaced_by_its_peers(steady):
    own = steady(8, 100)
    expected = healthy_step(own, slice(60, 100))
    slow = own.copy()
    slow[3, 60:] *= 1.4
    window = sketch(slow)
    found = measured(window, SLOW, (3,), 60)
    assert found.basis == "phases"
    assert found.step_seconds == pytest.approx(float((slow[3, 60:] + EXCHANGE).mean()))
    assert found.without.step_seconds == pytest.approx(expected, rel=0.005)
    assert found.without.low <= expected <= found.without.high
    assert (found.first, found.last) == (60, 99)


def test_a_drift_of_all_ranks_is_no_gain_by_removing_one(steady):
    """All ranks are slower by 10 % since the onset, and one by 40 % more."""
    own = steady(8, 100)
    own[:, 60:] *= 1.1
    expected = healthy_step(own, slice(60, 100))
    own[3, 60:] *= 1.4
    window = sketch(own)
    found = measured(window, SLOW, (3,), 60)
    assert found.without.step_seconds == pytest.approx(expected, rel=0.005)


def test_a_rank_that_is_usually_slower_stays_so(steady):
    own = steady(8, 100, spread=0.002)
    own[3] *= 1.05
    expected = healthy_step(own, slice(60, 100))
    own[3, 60:] *= 1.4
    window = sketch(own)
    found = measured(window, SLOW, (3,), 60)
    assert found.without.step_seconds == pytest.approx(expected, rel=0.003)


def test_a_rank_that_nobody_waits_for_gains_nothing_by_its_removal(steady):
    own = steady(8, 100)
    window, fast = sketch(own), int(own[:, 60:].mean(axis=1).argmin())
    found = measured(window, SLOW, (fast,), 60)
    assert found.without.step_seconds == pytest.approx(found.step_seconds, rel=0.01)


def test_what_is_everywhere_is_compared_with_what_was_before(steady):
    own = steady(8, 160)
    expected = healthy_step(own, slice(100, 160))
    own[:, 100:] *= 1.3
    window = sketch(own)
    found = measured(window, REGRESSED, range(8), 100)
    assert found.basis == "durations"
    assert found.without.step_seconds == pytest.approx(expected, rel=0.01)
    assert found.without.low <= expected <= found.without.high


def test_durations_alone_are_enough_and_say_so(steady):
    own = steady(8, 160)
    expected = healthy_step(own, slice(100, 160))
    own[3, 100:] *= 1.3
    window = sketch(own)
    step = "training.step.duration"
    planes = {step: window.steps.planes[step]}
    bare = sketch(
        own, planes=None, steps=type(window.steps)(window.steps.index, window.steps.at, planes)
    )
    found = measured(bare, SLOW, (3,), 100)
    phases = measured(window, SLOW, (3,), 100)
    assert (found.basis, phases.basis) == ("durations", "phases")
    assert found.without.step_seconds == pytest.approx(expected, rel=0.01)


def test_a_slow_exchange_is_replaced_by_the_earlier_one(steady):
    own = steady(8, 160)
    exchange = np.full(160, EXCHANGE)
    expected = healthy_step(own, slice(100, 160))
    exchange[100:] = 0.5
    window = sketch(own, exchange=exchange)
    found = measured(window, Fault("network.congestion"), range(8), 100)
    assert found.basis == "phases"
    assert found.without.step_seconds == pytest.approx(expected, rel=0.005)


def test_the_stage_of_a_pipeline_that_is_not_the_slowest_gains_little(steady):
    """Two stages of two ranks: the first takes half as long as the second, then nearly as long."""
    own = steady(4, 100, spread=0.001)
    own[:2] *= 0.5
    own[:2, 60:] *= 1.6
    placed = JobTopology(
        Job("example"),
        placements=[
            RankPlacement(rank, "host-0", dp=rank % 2, tp=0, pp=rank // 2) for rank in range(4)
        ],
    )
    window = sketch(own, placed=placed, role_of=np.arange(4) // 2)
    found = measured(window, SLOW, (0, 1), 60)
    gain = 1 - found.without.step_seconds / found.step_seconds
    assert 0.0 < gain < 0.05


def test_a_pipeline_that_was_never_well_has_peers_but_no_past(steady):
    placed = JobTopology(
        Job("example"),
        placements=[
            RankPlacement(rank, "host-0", dp=rank % 2, tp=0, pp=rank // 2) for rank in range(4)
        ],
    )
    window = sketch(steady(4, 40), placed=placed, role_of=np.arange(4) // 2)
    assert compared(window, Fault("network.congestion"), (), START) is None
    assert compared(window, SLOW, (0, 1), START) is None
    assert compared(window, SLOW, (0,), START) is not None


def test_nothing_is_said_of_few_steps_or_of_a_job_that_was_never_well(steady):
    own = steady(8, 40)
    window = sketch(own)
    assert compared(window, SLOW, (3,), onset_of(window, 37)) is None
    assert compared(window, REGRESSED, range(8), START) is None


def test_steps_that_hold_a_compilation_count_nowhere(steady):
    own = steady(8, 160)
    expected = healthy_step(own, slice(100, 160))
    own[:, 100:] *= 1.3
    own[:, 50] += 60.0
    own[:, 130] += 60.0
    window = sketch(own)
    found = measured(window, REGRESSED, range(8), 100)
    assert found.without.step_seconds == pytest.approx(expected, rel=0.01)


@given(
    st.integers(1, 6),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from(["gpu.slow", "network.congestion", "gpu.nvlink", "software.dataloader_slow",
                     "balance.rank0_preprocessing", "unknown"]),
    st.floats(0.0, 0.9),
    st.sets(st.integers(0, 7)),
)  # fmt: skip
def test_whatever_is_missing_an_answer_holds_together(ranks, steps, onset, fault, lost, suspects):
    """Never an error, never a gain below nothing, and the estimate inside its interval."""
    random = np.random.default_rng([ranks, steps, onset])
    own = random.lognormal(0.0, 0.1, (ranks, steps))
    own[random.random(own.shape) < lost] = np.nan
    window = sketch(own, planes={"training.data.duration": own * 0.1})
    at = START if not 0 < onset < steps else onset_of(window, onset)
    found = compared(window, Fault(fault), sorted(suspects), at)
    if found is not None:
        without = found.without
        assert 0 <= without.low <= without.step_seconds <= without.high
        assert without.step_seconds <= found.step_seconds
        assert 0 <= found.share <= 1
