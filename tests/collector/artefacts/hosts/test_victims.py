import pytest

from rankscope.collector.artefacts.hosts.victims import LineVictims
from rankscope.collector.artefacts.job.whereabouts import RankWhereabouts
from rankscope.vocabulary.samples import Event, TelemetryResource

NODE = TelemetryResource("node-a")
KILL = Event("host.oom_kill", 100.0, {"pid": 9104, "text": "Killed process 9104 (python)"}, NODE)
RANKS = {
    rank: RankWhereabouts("node-a", 100 + rank, f"pci:0000:0{rank + 1}:00.0") for rank in range(4)
}


def victims(processes=RANKS, exits=None, silent=(), size=4):
    return LineVictims(processes, exits or {}, frozenset(silent), size)


def fault(device, host="node-a", code="79"):
    return Event("gpu.fault", 100.0, {"hw.id": device, "code": code}, TelemetryResource(host))


def test_a_process_is_the_rank_s_that_logged_its_number():
    event = Event("host.oom_kill", 100.0, {"pid": 102}, NODE)
    assert 2 == victims().of(event)


def test_who_was_killed_for_memory_is_the_rank_that_ended_by_sigkill_just_then():
    assert 3 == victims(exits={3: (103.0, 9), 1: (104.0, 15)}).of(KILL)
    assert victims(exits={3: (103.0, 9), 1: (103.0, 9)}).of(KILL) is None
    assert victims(exits={3: (500.0, 9)}).of(KILL) is None


def test_who_was_killed_for_memory_is_the_one_rank_that_says_nothing_while_others_wait():
    assert 3 == victims(silent=[3]).of(KILL)
    assert victims(silent=[2, 3]).of(KILL) is None


@pytest.mark.parametrize(
    ("event", "signal"),
    [
        (KILL, 9),
        (Event("log.fault", 100.0, {"signature": "nccl.segfault", "pid": 9104}, NODE), 11),
    ],
)
def test_what_a_line_says_of_a_process_is_the_end_of_its_rank(event, signal):
    found = victims(silent=[3])
    ended = found.ends(event, 3)
    assert ended is not None
    assert ({"rank": 3, "signal": signal}, 100.0) == (ended.attributes, ended.at)
    assert victims(exits={3: (101.0, 9)}).ends(event, 3) is None


def test_a_line_that_ends_no_process_ends_no_rank():
    event = Event("log.fault", 100.0, {"signature": "task.hung", "pid": 9104}, NODE)
    assert victims(silent=[3]).of(event) is None
    assert victims(silent=[3]).ends(event, 3) is None


def test_a_device_without_an_address_is_that_of_the_only_rank_of_its_host():
    one = {0: RankWhereabouts("node-a", 100, None)}
    assert 0 == victims(one).of(fault("pci:unknown"))
    assert 0 == victims(one).of(fault("nvidia:GPU0"))
    assert victims().of(fault("pci:unknown")) is None


def test_a_device_that_no_rank_of_its_host_uses_is_not_the_job_s():
    assert "used this device" in victims().strange(fault("pci:0000:88:00.0"))
    assert "" == victims().strange(fault("pci:0000:01:00.0"))
    assert "" == victims().strange(fault("pci:unknown"))
    assert "" == victims().strange(fault("pci:0000:88:00.0", code="sxid.20034"))


def test_a_device_may_be_the_job_s_where_a_rank_of_its_host_does_not_say_which_it_uses():
    processes = {**RANKS, 3: RankWhereabouts("node-a", 103, None)}
    assert "" == victims(processes).strange(fault("pci:0000:88:00.0"))


def test_a_host_is_not_the_job_s_where_every_rank_is_known_to_run_elsewhere():
    assert "run on this host" in victims().strange(fault("pci:0000:01:00.0", host="node-b"))
    away = fault("pci:0000:01:00.0", host="node-b")
    assert "" == victims({3: RankWhereabouts("node-a", 103, None)}).strange(away)
    assert "" == victims(size=8).strange(away)
    assert "" == victims(size=0).strange(away)
