"""Loss curves in the windows: recorded while the job runs, carried into the next attempt."""

import pytest


@pytest.fixture
def losing(valid):
    """Return a function that reports steps with a loss of an attempt."""

    def report(attempt, steps, at, loss):
        for number, index in enumerate(steps):
            valid.step(0, index, at + number, attempt=attempt, **{"training.loss": loss})
        return valid.window(now=at + len(steps))

    return report


def test_the_next_attempt_has_the_losses_of_the_one_before(losing):
    before = losing(0, range(20), 10.0, 2.0)
    assert 20 == len(before.baselines.loss.curve)
    now = losing(1, range(15, 20), 100.0, 5.0)
    assert (list(range(20)), [2.0] * 20) == (
        now.baselines.loss.earlier.index.tolist(),
        now.baselines.loss.earlier.value.tolist(),
    )
    assert [5.0] * 5 == now.baselines.loss.curve.value.tolist()
