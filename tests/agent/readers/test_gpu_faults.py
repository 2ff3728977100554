"""Fault counters and states are shown whatever becomes of the disk."""

import pytest

from rankscope.agent.device_faults import FaultTracker, store
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.gpu_faults import GpuFaults
from rankscope.vocabulary.samples import Event


def test_faults_are_shown_while_the_disk_is_full_and_kept_when_it_has_room(
    tmp_path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    health = AgentHealth()
    fault_tracker = FaultTracker(boot_id="boot-1", now=1.0, state=tmp_path)
    fault_tracker.take(
        Event("gpu.fault", 1.0, {"hw.id": "GPU-a", "code": "79", "source": "kmsg"}), 1.0
    )
    reader = GpuFaults(period=5.0, fault_tracker=fault_tracker, health=health)
    with monkeypatch.context() as disk:
        disk.setattr(store, "save", full)
        assert {"hw.gpu.faults", "hw.status"} <= {one.metric for one in reader.read(2.0)}
    assert health.counted("reader_failures", "gpu_faults", "state") == 1
    reader.read(3.0)
    assert store.load(tmp_path).faults
