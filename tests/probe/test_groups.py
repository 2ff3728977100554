"""When a group is described to the collector."""

from rankscope.probe.groups import GroupInfos
from rankscope.vocabulary.groups import ProcessGroup


def test_a_group_is_sent_by_its_lowest_rank_once_in_ten_minutes():
    known = (ProcessGroup("a", (0, 1)), ProcessGroup("b", (2, 3)))
    infos = GroupInfos()
    first = infos.due(known, 0.0, 2)
    assert ["b"] == [dict(each.attributes)["desc"] for each in first]
    assert not infos.due(known, 5.0, 2)
    assert 1 == len(infos.due((*known, ProcessGroup("c", (2, 5))), 10.0, 2)), "a new one at once"
    assert 2 == len(infos.due((*known, ProcessGroup("c", (2, 5))), 700.0, 2))
