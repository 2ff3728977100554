"""Checks that cost something stay below their share of the time."""

from rankscope.probe.budgets import TimeBudget

SHARE = 0.002


class Clock:
    time = 0.0

    def __call__(self):
        return self.time


def test_a_check_costs_at_most_its_share_however_expensive_it_is():
    clock = Clock()
    for cost in (1e-5, 1e-3, 0.1):
        budget, spent, began = TimeBudget(SHARE, clock=clock), 0.0, clock.time
        for _step in range(20_000):
            clock.time += 0.01
            if budget.due():
                clock.time += cost
                spent += cost
                budget.spent(cost)
        assert 0 < spent <= SHARE * (clock.time - began) + cost


def test_after_a_bad_value_every_step_is_checked_for_a_while():
    clock = Clock()
    budget = TimeBudget(SHARE, clock=clock)
    budget.spent(10.0)
    assert not budget.due()
    budget.insist(3)
    assert [True, True, True, False] == [budget.due() for _ in range(4)]
