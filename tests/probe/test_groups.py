"""When a group is described to the collector."""

from rankscope.probe.groups import Infos
from rankscope.vocabulary.groups import Group


def test_a_group_is_sent_by_its_lowest_rank_once_in_ten_minutes():
    known = (Group("a", (0, 1)), Group("b", (2, 3)))
    infos = Infos()
    first = infos.due(known, 0.0, 2)
    assert ["b"] == [dict(each.attributes)["desc"] for each in first]
    assert not infos.due(known, 5.0, 2)
    assert 1 == len(infos.due((*known, Group("c", (2, 5))), 10.0, 2)), "a new one at once"
    assert 2 == len(infos.due((*known, Group("c", (2, 5))), 700.0, 2))
