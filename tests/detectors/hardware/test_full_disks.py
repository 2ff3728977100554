"""Filesystems that ran full, or can no longer be written."""

import pytest
from tests.detectors.drawn import event, levels, steady

from rankscope.detectors.hardware.full_disks import FullDisksDetector
from rankscope.detectors.sketch import START, sketch


def found(**held):
    """Evaluate filesystems of two hosts."""
    named = {f"system.filesystem.{name}": value for name, value in held.items()}
    return FullDisksDetector().evaluate(sketch(steady(), host_readings=named))


@pytest.mark.parametrize("what", ["utilization", "inodes.utilization"])
def test_a_filesystem_that_filled_up_is_named_since_it_is_full(what):
    (finding,) = found(**{f"{what}|/scratch": levels(2, 0.6, 1.0, 1, since=30)})
    assert ("host.disk_full", "host-1", START + 30) == (
        finding.kind, finding.entity.id, finding.onset[1],
    )  # fmt: skip


def test_a_filesystem_that_was_full_all_along_is_no_news():
    assert [] == found(**{"utilization|/scratch": levels(2, 1.0)})


def test_an_image_that_is_full_by_nature_is_left_out():
    assert [] == found(**{"utilization|/snap/core": levels(2, 0.5, 1.0, 1, since=30)})


def test_a_filesystem_that_is_nearly_full_is_no_finding():
    assert [] == found(**{"utilization|/scratch": levels(2, 0.9, 0.95, 1, since=30)})


def test_a_filesystem_that_turned_read_only_is_named():
    (finding,) = found(**{"read_only|/data": levels(2, 0, 1, 1, since=30)})
    assert "host host-1: /data can no longer be written" == finding.text
    assert [] == found(**{"read_only|/data": levels(2, 1)})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("OSError: [Errno 28] No space left on device: '/scratch/ckpt'", 1),
        ("write failed: ENOSPC", 1),
        ("No space left on device: '/dev/shm/torch_12'", 0),
        ("RuntimeError: shape mismatch", 0),
    ],
)
def test_a_write_that_found_no_room_names_its_host_before_any_reading(text, count):
    line = event("log.fault", 40, host="host-1", rank=3, role="root", text=text)
    findings = FullDisksDetector().evaluate(sketch(steady(), events=[line]))
    assert [("host-1", START + 40)] * count == [(f.entity.id, f.onset[0]) for f in findings]


def test_what_fills_so_fast_that_as_much_again_does_not_fit_is_named_before_it_is_full():
    (finding,) = found(**{"utilization|/scratch": levels(2, 0.5, 0.97, 1, since=30)})
    assert ("host-1", 2.0) == (finding.entity.id, finding.score)
    assert [] == found(**{"utilization|/scratch": levels(2, 0.94, 0.97, 1, since=30)})
