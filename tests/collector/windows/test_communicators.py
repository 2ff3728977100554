"""Communicators by NCCL's own log: who is in one, and which process is which rank of it."""

from rankscope.collector.windows.communicators import EVENT, MOST, CommunicatorRegister, LoggedRank
from rankscope.vocabulary.samples import Event


def line(rank, place, size, name="0xabc1", **more):
    pairs = {"communicator": name, "communicator.rank": place, "communicator.size": size,
             "pid": 100 + place, "pci.bus_id": f"0000:0{place}:00.0", **more}  # fmt: skip
    if rank is not None:
        pairs["rank"] = rank
    return Event(EVENT, 10.0, pairs)


def described(sample):
    return None if sample is None else {**dict(sample.attributes)}


def test_a_group_is_known_once_each_of_its_members_logged_it():
    held = CommunicatorRegister()
    assert held.take(line(4, 0, 2), world_size=8) is None
    info = described(held.take(line(6, 1, 2), world_size=8))
    assert info is not None
    assert ("other:abc1", "nccl 0xabc1", 2, "4,6") == (
        info["group"], info["desc"], info["size"], info["ranks"]
    )  # fmt: skip
    assert held.take(line(6, 1, 2), world_size=8) is None
    assert {
        4: LoggedRank(100, "0000:00:00.0", 0),
        6: LoggedRank(101, "0000:01:00.0", 1),
    } == held.members("other:abc1")


def test_that_of_all_ranks_is_known_by_two_and_needs_no_rank_beside_its_own():
    held = CommunicatorRegister()
    assert held.take(line(None, 0, 4), world_size=4) is None
    info = described(held.take(line(None, 3, 4), world_size=4))
    assert info is not None
    assert ("world:abc1", "0-3") == (info["group"], info["ranks"])
    assert {0, 3} == set(held.members("world:abc1"))


def test_names_that_each_process_has_for_itself_make_no_group():
    held = CommunicatorRegister()
    assert [None] * 4 == [
        held.take(line(rank, rank, 4, name=f"0x7f{rank}"), world_size=4) for rank in range(4)
    ]


def test_what_names_nothing_is_counted_and_what_is_held_is_bounded():
    held = CommunicatorRegister()
    for event in (line(0, 2, 2), line(None, 0, 2), line(0, 0, 0), line(0, 0, 2, name="")):
        assert held.take(event, world_size=8) is None
    assert held.malformed == 4
    for number in range(MOST + 5):
        held.take(line(0, 0, 2, name=f"{number:x}0f"), world_size=8)
    assert not held.members("other:f")
    assert held.members(f"other:{MOST + 4:x}0f")
