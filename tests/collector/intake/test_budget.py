"""What one sender may have of the bytes that all share."""

from rankscope.collector.intake.budget import ByteBudget


def test_a_sender_never_has_more_than_it_leaves_to_the_others():
    budget = ByteBudget(100)
    assert [True] * 5 + [False] == [budget.take(b"greedy", 10) for _ in range(6)]
    assert [True, True, False] == [budget.take(b"other", 10) for _ in range(3)]
    assert budget.take(b"third", 10)
    assert 80 == budget.used


def test_what_is_given_back_may_be_taken_by_anybody():
    budget = ByteBudget(100)
    for _ in range(5):
        budget.take(b"greedy", 10)
    budget.give_back(b"greedy", 50)
    assert [True] * 5 + [False] == [budget.take(b"other", 10) for _ in range(6)]


def test_what_is_larger_than_everything_is_taken_where_nothing_else_is():
    budget = ByteBudget(100)
    assert budget.take(b"one", 500)
    assert not budget.take(b"two", 1)
    budget.give_back(b"one", 500)
    assert budget.take(b"two", 1)
