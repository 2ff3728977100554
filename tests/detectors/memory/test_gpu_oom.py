"""Ranks that ended because their device's memory ran out."""

import numpy as np
import pytest

from rankscope.detectors.memory.fragmentation import RESERVED, RETRIES
from rankscope.detectors.memory.gpu_leak import LIMIT, USAGE
from rankscope.detectors.memory.gpu_oom import GpuOomDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.vocabulary.samples import Event

AT = START + np.arange(0.0, 61, 5)


def evaluated(*events, used=0.5, planes=None):
    """Evaluate four ranks with events, device memory and planes."""
    by_rank = {
        USAGE: readings(AT, np.full((4, 1), 80e9 * used)),
        LIMIT: readings(AT, np.full((4, 1), 80e9)),
    }
    window = sketch(
        np.full((4, 60), 0.8), rank_readings=by_rank, events=events, planes=planes or {}
    )
    return [(f.entity.id, f.score) for f in GpuOomDetector().evaluate(window)]


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: HIP out of memory",
        "NPU out of memory. Tried to allocate",
        "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
        "XLA: RESOURCE_EXHAUSTED: Out of memory while trying to allocate; device out of memory",
    ],
)
def test_a_log_line_that_says_so_names_its_rank(event, text):
    line = event("log.fault", 50, rank=2, role="root", text=text)
    assert [("2", 3.0)] == evaluated(line, event("process.exit", 51, rank=2, exit_code=1))


def test_the_kernels_out_of_memory_is_another_fault(event):
    text = "Out of memory: Killed process 1002 (python)"
    assert [] == evaluated(event("log.fault", 50, rank=2, role="root", text=text))
    assert [] == evaluated(event("log.fault", 50, role="root", text="CUDA out of memory"))


def test_an_error_while_the_device_was_full_is_a_sign(event):
    end = event("process.exit", 50, rank=2, exit_code=1)
    assert [("2", 1.5)] == evaluated(end, used=0.985)
    assert [] == evaluated(end)
    assert [] == evaluated(event("process.exit", 50, rank=2, signal=9), used=0.985)
    assert [] == evaluated(event("process.exit", 50, rank=2, exit_code=137), used=0.985)


def test_an_error_after_reserved_memory_was_full_or_retries_is_a_sign(event):
    end = event("process.exit", 50, rank=2, exit_code=1)
    assert [("2", 1.5)] == evaluated(end, planes={RESERVED: np.full((4, 60), 79e9)})
    retries = np.zeros((4, 60))
    retries[2, -2:] = 3
    assert [("2", 1.5)] == evaluated(end, planes={RETRIES: retries})
    assert [] == evaluated(end, planes={RETRIES: 0 * retries})


def test_other_events_are_no_sign(event):
    assert [] == evaluated(event("training.phase", 50, rank=2, phase="train"))


def test_the_message_says_whether_memory_was_in_pieces():
    text = (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.67 GiB. GPU 0 has a total "
        "capacity of 80.00 GiB of which 100.00 MiB is free. Of the allocated memory {} is "
        "allocated by PyTorch, and {} is reserved by PyTorch but unallocated."
    )
    kinds = {}
    for held, loose in (("49.10 GiB", "29.90 GiB"), ("68.80 GiB", "900.00 MiB"),
                        ("66.00 GiB", "13.50 GiB")):  # fmt: skip
        line = text.format(held, loose)
        event = Event("log.fault", START + 50, {"rank": 1, "role": "root", "text": line})
        found = GpuOomDetector().evaluate(sketch(np.full((4, 60), 0.8), events=(event,)))
        kinds[loose] = [finding.kind for finding in found]
    assert {
        "29.90 GiB": ["rank.gpu_oom", "rank.oom_fragmented"],
        "900.00 MiB": ["rank.gpu_oom", "rank.oom_allocated"],
        "13.50 GiB": ["rank.gpu_oom"],
    } == kinds


@pytest.mark.parametrize("held", ["1.2.3 GiB", ". GiB", "7.GiB", "9" * 400 + " GiB"])
def test_amounts_that_are_no_numbers_are_passed_over(held):
    text = f"CUDA out of memory. Of it {held} is allocated by PyTorch, and 0 GiB is reserved"
    event = Event("log.fault", START + 50, {"rank": 1, "role": "root", "text": text})
    found = GpuOomDetector().evaluate(sketch(np.full((4, 60), 0.8), events=(event,)))
    assert "rank.gpu_oom" in {finding.kind for finding in found}
