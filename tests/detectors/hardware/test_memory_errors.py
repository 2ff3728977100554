"""Errors of device memory: those that could not be corrected, and a rate of corrected ones."""

from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.memory_errors import MemoryErrorsDetector
from rankscope.detectors.sketch import sketch

WRONG, CORRECTED = "hw.errors|uncorrected|hbm", "hw.errors|corrected|hbm"


def found(by_rank, **fields):
    """Return (kind, device) of what memory errors show."""
    window = sketch(steady(), rank_readings=by_rank, **fields)
    return [(f.kind, f.entity.id) for f in MemoryErrorsDetector().evaluate(window)]


def test_one_word_that_could_not_be_corrected_is_enough():
    assert [("gpu.memory_error", "GPU-1")] == found({WRONG: levels(4, 0, 1, 1, since=50)})


def test_what_was_counted_before_the_job_is_none_of_its_errors():
    assert [] == found({WRONG: levels(4, 0, 7, 1)})


def test_a_counter_that_begins_again_did_not_grow():
    assert [] == found({WRONG: levels(4, 0, 7, 1, until=30)})


def test_errors_of_links_are_not_of_memory():
    assert [] == found({"hw.errors|uncorrected|pcie": levels(4, 0, 1, 1, since=50)})


def test_corrected_errors_now_and_then_are_normal_life():
    assert [] == found({CORRECTED: levels(4, 0, 1, 1, since=50)})


def test_a_device_that_corrects_far_more_than_its_peers_is_evidence():
    many = levels(4, 0, 400, 1, counter=True)
    assert [("gpu.memory_corrected", "GPU-1")] == found({CORRECTED: many})


def test_where_every_device_corrects_as_much_nobody_stands_out():
    assert [] == found({CORRECTED: levels(4, 400, counter=True)})


def test_of_two_devices_the_one_that_corrects_far_more_stands_out():
    many = levels(2, 0, 400, 1, counter=True)
    window = sketch(steady(ranks=2), rank_readings={CORRECTED: many})
    assert ["GPU-1"] == [f.entity.id for f in MemoryErrorsDetector().evaluate(window)]
