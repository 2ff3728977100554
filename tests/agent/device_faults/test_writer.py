"""A new fault is on the disk before a SIGKILL can come."""

import json

from rankscope.agent.device_faults import FaultTracker, FaultWriter
from rankscope.vocabulary.samples import Event

FAULT = {"hw.id": "GPU-1", "code": "48", "vendor": "nvidia", "source": "kmsg", "text": "DBE"}


def kept(folder):
    files = list(folder.glob("*.json"))
    return [row for path in files for row in json.loads(path.read_text())["faults"]]


def test_a_verdict_is_written_when_the_writer_is_woken(tmp_path, until):
    tracker = FaultTracker(boot_id="b", now=1.0, state=tmp_path)
    writer = FaultWriter(tracker, now=lambda: 2.0)
    assert tracker.take(Event("gpu.fault", 2.0, FAULT), 2.0)
    writer.wake()
    until(lambda: [row["code"] for row in kept(tmp_path)] == ["48"])
    writer.close()


def test_what_is_left_is_written_at_the_end_and_a_disk_that_refuses_ends_nothing(tmp_path):
    tracker = FaultTracker(boot_id="b", now=1.0, state=tmp_path)
    writer = FaultWriter(tracker, now=lambda: 2.0)
    tracker.take(Event("gpu.fault", 2.0, FAULT), 2.0)
    writer.close()
    assert len(kept(tmp_path)) == 1
    gone = FaultTracker(boot_id="b", now=1.0, state=tmp_path / "nowhere" / "at all")
    lonely = FaultWriter(gone, now=lambda: 2.0)
    gone.take(Event("gpu.fault", 2.0, FAULT), 2.0)
    lonely.close()
    assert gone.open()
