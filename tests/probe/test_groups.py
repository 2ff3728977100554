"""Groups: the same name on every member, whatever torch calls them there."""

import doctest

import pytest

from rankscope.probe import groups
from rankscope.probe.groups import Group, Infos, spell_ranks


def test_the_examples_in_the_text_hold():
    assert 0 == doctest.testmod(groups).failed


@pytest.mark.parametrize(
    ("desc", "kind"),
    [
        ("default_pg", "world"),
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("EXPERT_DATA_PARALLEL_GROUP", "ep"),
        ("mesh_dp", "dp"),
        ("mesh_tp", "tp"),
        ("undefined", "other"),
        ("", "other"),
    ],
)
def test_the_kind_is_read_from_what_frameworks_write(desc, kind):
    assert kind == Group(desc, (0, 1)).kind
    assert Group(desc, (0, 1)).name.startswith(f"{kind}:")


def test_the_name_depends_on_ranks_and_description_only():
    assert Group("a", (0, 1)).name == Group("a", (0, 1)).name
    assert 3 == len({Group("a", (0, 1)).name, Group("b", (0, 1)).name, Group("a", (0, 2)).name})


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1), "0,1"),
        (tuple(range(1024)), "0-1023"),
        (tuple(range(0, 1024, 8)), "0-1016:8"),
        ((0, 1, 2, 8, 9, 10, 40), "0-2,8-10,40"),
    ],
)
def test_ranks_are_spelled_short(ranks, text):
    assert text == spell_ranks(ranks)


def test_a_group_is_sent_by_its_lowest_rank_once_in_ten_minutes():
    known = (Group("a", (0, 1)), Group("b", (2, 3)))
    infos = Infos()
    first = infos.due(known, 0.0, 2)
    assert ["b"] == [dict(each.attributes)["desc"] for each in first]
    assert not infos.due(known, 5.0, 2)
    assert 1 == len(infos.due((*known, Group("c", (2, 5))), 10.0, 2)), "a new one at once"
    assert 2 == len(infos.due((*known, Group("c", (2, 5))), 700.0, 2))
