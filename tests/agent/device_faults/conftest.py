import pytest
from tests.agent.device_faults.faults import T

from rankscope.agent.device_faults import FaultTracker


@pytest.fixture
def make(tmp_path):
    """Start an agent's tracker; `boot` is the boot it finds itself in."""

    def start(boot="boot-1", now=T, **more):
        return FaultTracker(boot_id=boot, now=now, **{"state": tmp_path, **more})

    return start
