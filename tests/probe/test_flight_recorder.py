"""torch's Flight Recorder as a job's rank asks it: counters always, a kind only while it waits."""

import json
import sys
from types import SimpleNamespace

import pytest

from rankscope.probe.flight_recorder import RecorderReader


class Recorder:
    """A recorder of one group of two ranks: how often its whole list was asked for, what is due."""

    def __init__(self):
        self.enqueued = self.completed = 5
        self.kinds = {}
        self.lists = 0

    def dump(self, *, includeCollectives):  # noqa: N803  torch's own spelling
        counts = {
            "last_enqueued_collective": str(self.enqueued),
            "last_started_collective": "-1",
            "last_completed_collective": str(self.completed),
        }
        found: dict[str, object] = {"pg_status": {"0": counts}}
        if includeCollectives:
            self.lists += 1
            found["entries"] = [
                {
                    "pg_id": 0,
                    "process_group": ["0", "default_pg"],
                    "collective_seq_id": number,
                    "profiling_name": f"gloo:{self.kinds.get(number, 'all_reduce')}",
                }
                for number in range(1, self.enqueued + 1)
            ]
        return json.dumps(found)


class Made:
    """A process group, by what the probe asks of it."""

    group_desc = "default_pg"


@pytest.fixture
def recorder(monkeypatch):
    made, group = Recorder(), Made()
    distributed = SimpleNamespace(
        is_initialized=lambda: True,
        get_process_group_ranks=lambda _: [0, 1],
        distributed_c10d=SimpleNamespace(_world=SimpleNamespace(pg_names={group: "0"})),
    )

    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    c10d = SimpleNamespace(_dump_fr_trace_json=made.dump)
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", c10d)
    return made


def launches(samples):
    return {
        dict(sample.attributes)["op"]: sample.value
        for sample in samples
        if sample.metric == "collective.launches"
    }


def test_a_rank_that_goes_on_sends_no_kinds_and_reads_the_list_once(recorder):
    reader = RecorderReader()
    for at in (0.0, 5.0, 10.0):
        recorder.completed = recorder.enqueued
        recorder.enqueued += 1  # always inside one, never inside the same
        assert launches(reader.samples(at, 0)) == {}
    assert recorder.lists == 1


def test_a_rank_inside_the_same_collective_twice_sends_its_kind_and_its_number(recorder):
    reader = RecorderReader()
    recorder.enqueued, recorder.kinds = 6, {6: "broadcast"}
    assert launches(reader.samples(0.0, 0)) == {}
    assert launches(reader.samples(5.0, 0)) == {"broadcast": 6.0}
    lists = recorder.lists
    assert launches(reader.samples(10.0, 0)) == {"broadcast": 6.0}
    assert recorder.lists == lists


def test_a_kind_that_the_ring_no_longer_holds_is_not_sent_and_not_looked_for_again(recorder):
    reader = RecorderReader()
    recorder.enqueued, recorder.kinds = 6, {6: ""}
    for at in (0.0, 5.0, 10.0):
        assert launches(reader.samples(at, 0)) == {}
    assert recorder.lists == 2
