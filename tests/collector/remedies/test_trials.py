"""Clusters with faults, a collector killed between any two writes: no promise is broken."""

import pytest

from bench.remedies import trial
from bench.remedies.executor import TrialExecutor


def broken(seeds, folder, **more):
    found = {}
    for seed in seeds:
        result = trial.run(seed, folder, **more)
        if result.broken:
            found[seed] = result.broken
    return found


@pytest.mark.parametrize("seed", range(1, 7))
def test_nothing_is_done_twice_half_or_to_the_healthy(seed, tmp_path):
    assert {} == broken([seed], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 1100, 50))
def test_nor_in_a_thousand_trials(first, tmp_path):
    assert {} == broken(range(first, first + 50), tmp_path)


@pytest.mark.parametrize("seed", [3, 4])
def test_nor_where_a_collector_is_killed_at_every_fifth_point(seed, tmp_path):
    assert {} == broken([seed], tmp_path, kill_share=0.2)


def test_a_trial_notices_an_executor_that_restarts_without_looking(tmp_path, monkeypatch):
    """The check is worth something: what an executor must not do is found."""

    def blind(self, order, seen, allowed):
        allowed()
        self._cluster.restart(order.job, order.id, self.now)
        self._kills.point("after a restart")
        return "done"

    monkeypatch.setattr(TrialExecutor, "carry_out", blind)
    assert broken(range(1, 5), tmp_path, kill_share=0.2)
