"""Processes that use a device of the job and are none of its ranks."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.foreign_processes import ForeignProcessesDetector
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import ProcessReadings

GIB = 2.0**30


def found(*, row=-1, device="GPU-1", **readings):
    """Evaluate one process on a device of the first host."""
    named = {f"hw.gpu.process.{name}": held for name, held in readings.items()}
    one = ProcessReadings(np.array([0]), np.array([77]), np.array([row]), (device,), named)
    return ForeignProcessesDetector().evaluate(sketch(steady(), processes=one))


def test_a_process_that_computes_is_named_with_its_device():
    (finding,) = found(utilization=levels(1, 0.4))
    assert ("GPU-1", 3.0) == (finding.entity.id, finding.score)
    assert finding.text.endswith("process 77, no rank of the job, computes 40% of the time")


@pytest.mark.parametrize("size", [1, 30])
def test_a_process_that_holds_more_than_a_context_is_named(size: int) -> None:
    (finding,) = found(memory=levels(1, size * GIB))
    assert finding.text.endswith(f"holds {size} GiB")


def test_monitoring_holds_little_and_computes_nothing():
    assert [] == found(memory=levels(1, 0.3 * GIB), utilization=levels(1, 0.0))


def test_a_worker_of_a_rank_is_not_foreign():
    assert [] == found(row=1, memory=levels(1, 30 * GIB))


def test_a_process_on_a_device_of_another_job_is_none_of_ours():
    assert [] == found(device="GPU-9", memory=levels(1, 30 * GIB))


def test_devices_without_processes_are_no_finding():
    assert [] == ForeignProcessesDetector().evaluate(sketch(steady()))
