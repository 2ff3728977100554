"""Over gloo a rank that sends counts more operations than its peers: not more collectives."""

from rankscope.probe.flight_recorder import COUNTERS
from rankscope.probe.gloo_numbers import GlooNumbers

KEYS = [key for _, key in COUNTERS]


class Recorder:
    """A recorder of one group: numbers of operations, of which every second may be a send."""

    def __init__(self, *, sends):
        self.sends = sends
        self.entries = []
        self.operation = self.reads = 0

    def step(self):
        self.operation += 2 if self.sends else 1
        number = len(self.entries) + 1
        collective = self.operation - 1 if self.sends else self.operation
        self.entries.append({"pg_id": 0, "op_id": collective, "collective_seq_id": number,
                             "profiling_name": "gloo:all_reduce"})  # fmt: skip

    def status(self):
        return {"0": dict.fromkeys(KEYS, str(self.operation)) | {KEYS[1]: "-1"}}

    def read(self):
        self.reads += 1
        return list(self.entries)


def told(recorder, *, steps, stands=3):
    numbers, found = GlooNumbers(KEYS), []
    for turn in range(steps + stands):
        if turn < steps:
            recorder.step()
        status = numbers.comparable(recorder.status(), recorder.read, 5.0 * turn)
        found.append({n: int(one[KEYS[0]]) for n, one in status.items()})
    return found


def test_a_rank_that_stands_has_the_number_of_its_collective():
    assert {"0": 8} == told(Recorder(sends=True), steps=8)[-1]
    assert {"0": 8} == told(Recorder(sends=False), steps=8)[-1]


def test_while_a_rank_that_sends_goes_on_nothing_is_said_of_it():
    assert all(one == {} for one in told(Recorder(sends=True), steps=8, stands=0))


def test_without_sends_every_reading_is_sent_and_the_list_is_read_ever_more_rarely():
    recorder = Recorder(sends=False)
    found = told(recorder, steps=60, stands=0)
    assert [{"0": number} for number in range(1, 61)] == found
    assert recorder.reads < 12


def test_a_rank_that_stands_long_is_read_once():
    recorder = Recorder(sends=True)
    told(recorder, steps=1, stands=1)
    before = recorder.reads
    numbers = GlooNumbers(KEYS)
    numbers._looks = False
    for turn in range(20):
        numbers.comparable(recorder.status(), recorder.read, 5.0 * turn)
    assert before + 1 == recorder.reads


class UnnumberedRecorder(Recorder):
    """One of an older torch, which does not number operations."""

    def read(self):
        self.reads += 1
        return [{"pg_id": 0, "collective_seq_id": 1, "profiling_name": "gloo:all_reduce"}]


def test_a_torch_that_numbers_no_operations_is_asked_when_it_stands_only():
    recorder = UnnumberedRecorder(sends=False)
    assert [{"0": number} for number in range(1, 31)] == told(recorder, steps=30, stands=0)
    assert 1 == recorder.reads
