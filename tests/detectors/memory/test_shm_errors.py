"""Ranks that ended with an error of shared memory."""

import numpy as np
import pytest

from rankscope.detectors.memory.shm_errors import ShmErrorsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import Event, TelemetryResource

WHERE = TelemetryResource("host-1", "example")
LOADER = (
    "RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. It is possible that "
    "dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
)


def line(text, rank=3, role="root", at=50.0):
    return Event("log.fault", START + at, {"rank": rank, "role": role, "text": text}, WHERE)


def evaluated(*events):
    found = ShmErrorsDetector().evaluate(sketch(np.full((4, 60), 0.8), events=events))
    return [(finding.entity.id, finding.score) for finding in found]


@pytest.mark.parametrize(
    "text",
    [
        LOADER,
        "unable to write to file </torch_33_7>: No space left on device (28) /dev/shm",
        "ERROR: Unexpected bus error ... insufficient shared memory (shm).",
        "OSError: could not allocate shared memory",
    ],
)
def test_a_line_that_names_shared_memory_is_certain(text):
    assert [("3", 3.0)] == evaluated(line(text))


def test_a_bus_error_alone_is_likely():
    assert [("3", 1.5)] == evaluated(line("Fatal Python error: Bus error"))
    exit_ = Event("process.exit", START + 50, {"rank": 2, "signal": 7}, WHERE)
    assert [("2", 1.5)] == evaluated(exit_)
    assert [("3", 3.0)] == evaluated(line("SIGBUS"), line(LOADER, at=51.0))


def test_other_errors_and_those_of_peers_say_nothing():
    full = "OSError: [Errno 28] No space left on device: /scratch/step_100.pt"
    assert [] == evaluated(line(full), line(LOADER, role="cascade"), line(LOADER, rank=99))
    killed = Event("process.exit", START + 50, {"rank": 2, "signal": 9}, WHERE)
    assert [] == evaluated(killed)


def test_a_line_without_a_rank_is_its_host_s_where_it_names_shared_memory():
    pairs = {"role": "root", "text": LOADER}
    assert [("host-1", 3.0)] == evaluated(Event("log.fault", START + 50, pairs, WHERE))
    pcie = {"role": "root", "text": "PCIe Bus Error: severity=Uncorrected"}
    assert [] == evaluated(Event("log.fault", START + 50, pcie, WHERE))


def test_a_segment_that_cannot_be_opened_for_other_reasons_says_nothing():
    text = (
        "unable to open shared memory object </torch_7_1> in read-write mode: Too many open files"
    )
    assert [] == evaluated(line(text))
