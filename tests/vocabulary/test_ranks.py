import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.vocabulary.ranks import RankSet


def test_ranks_are_written_as_the_wire_writes_them():
    assert "0-1016:8" == str(RankSet(range(0, 1017, 8)))
    assert "0,2,5-7" == str(RankSet([7, 5, 6, 0, 2]))


@given(st.sets(st.integers(0, 300)))
def test_a_set_is_what_it_was_made_of_in_order(ranks):
    held = RankSet(ranks)
    assert sorted(ranks) == list(held)
    assert len(ranks) == len(held)
    assert all(rank in held for rank in ranks)
    assert not any(rank in held for rank in range(301) if rank not in ranks)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_what_is_written_can_be_read_again_and_equals_it(ranks):
    assert RankSet(ranks) == RankSet.parse(str(RankSet(ranks)))
    assert hash(RankSet(ranks)) == hash(RankSet.parse(str(RankSet(ranks))))


@given(
    st.lists(
        st.builds(
            lambda first, size, stride: range(first, first + size * stride, stride),
            st.integers(0, 60),
            st.integers(1, 6),
            st.integers(1, 4),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_written_ranges_are_the_set_of_their_members_however_they_lie(parts):
    text = ",".join(f"{one[0]}-{one[-1]}:{one.step}" for one in parts)
    held = RankSet.parse(text)
    assert RankSet({rank for one in parts for rank in one}).runs == held.runs


def test_ranges_are_read_without_their_members():
    held = RankSet.parse("0-299999,300000-899999:2,1000000-1000002", most=700_000)
    assert ((0, 300_000, 1), (300_002, 899_998, 2), (1_000_000, 1_000_002, 1)) == held.runs
    with pytest.raises(ValueError, match="more than 10 ranks"):
        RankSet.parse("0-8,20-21", most=10)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9))
def test_a_range_equals_the_list_of_its_members(first, length, stride):
    ranks = range(first, first + length, stride)
    assert RankSet(list(ranks)) == RankSet(ranks) == RankSet(ranks[::-1])


@pytest.mark.parametrize("text", ["", "a", "3-1", "0-8:0", "-1", "0-99999999999", "1,,2"])
def test_what_is_no_set_of_ranks_is_refused(text):
    with pytest.raises(ValueError, match=r"rank|runs"):
        RankSet.parse(text)


def test_a_document_lists_few_ranks_and_writes_many_as_runs():
    assert [1, 5] == RankSet([5, 1]).document()
    assert ["0-16378:2", 20_001] == RankSet([*range(0, 16_379, 2), 20_001]).document()


def test_sets_can_be_intersected_joined_and_subtracted():
    evens, low = RankSet(range(0, 20, 2)), RankSet(range(6))
    assert [0, 2, 4] == list(evens & low)
    assert [1, 3, 5] == list(low - evens)
    assert 13 == len(evens | low)
