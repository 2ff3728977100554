"""Stacks of a job that stands still: folded over its ranks, the odd one out first to look at."""

from rankscope.alerts.stacks import MOST_GROUPS, folded, odd_text, same

WAITS = "<module> (train.py:9)\nstep (train.py:40)\nall_reduce (distributed_c10d.py:{})"
SLEEPS = "<module> (train.py:9)\nload (data.py:7)"


def test_equal_stacks_are_one_group_whatever_their_lines_and_the_odd_rank_is_marked():
    texts = {rank: WAITS.format(2000 + rank) for rank in range(7)} | {7: SLEEPS}
    waits, odd = folded(texts)
    assert (list(range(7)), False) == (list(waits.ranks), waits.odd)
    assert ([7], True, SLEEPS) == (list(odd.ranks), odd.odd, odd.text)
    text = "rank 7 stands in load (data.py:7), 7 others in all_reduce (distributed_c10d.py:2000)"
    assert text == odd_text((waits, odd))


def test_where_no_place_has_most_ranks_nobody_is_odd():
    groups = folded({0: SLEEPS, 1: WAITS.format(1)})
    assert [False, False] == [group.odd for group in groups]
    assert odd_text(groups) is None
    assert () == folded({})


def test_stacks_written_innermost_first_are_turned_round():
    (group,) = folded({0: "Thread 1 (most recent call first):\n  inner\n  outer"})
    assert "outer\ninner" == group.text


def test_the_same_places_at_other_lines_are_no_news():
    one, other = folded({0: WAITS.format(1), 1: SLEEPS}), folded({0: WAITS.format(2), 1: SLEEPS})
    assert same(one, other)
    assert not same(one, folded({0: WAITS.format(1)}))


def test_a_document_holds_few_groups_and_their_innermost_calls():
    deep = "\n".join(f"f{n} (a.py:{n})" for n in range(60))
    groups = folded({rank: f"{deep}\ng{rank} (a.py:1)" for rank in range(50)})
    assert MOST_GROUPS == len(groups)
    assert groups[0].text.endswith("g0 (a.py:1)")
    assert 24 == len(groups[0].text.splitlines())
