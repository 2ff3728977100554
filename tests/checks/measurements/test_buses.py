"""Accelerators on the bus: who answers reads with ones has fallen off."""

import pytest

from rankscope.checks.measurements import buses
from rankscope.checks.measurements.rows import CheckOrder

ORDER = CheckOrder("bus")
H100 = b"\xde\x10\x30\x23"


@pytest.fixture
def node(tmp_path):
    """Return a function that gives the node a device; and the node's root."""

    def add(name, config, *, vendor="0x10de", kind="0x030200"):
        folder = tmp_path / "sys/bus/pci/devices" / name
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")
        (folder / "config").write_bytes(config)

    return add


def test_devices_that_say_who_they_are_pass(node, tmp_path):
    node("0000:01:00.0", H100)
    node("0000:02:00.0", H100)
    (row,) = buses.present(ORDER, root=tmp_path)
    assert (0.0,) == row.samples


def test_one_that_answers_with_ones_has_fallen_off(node, tmp_path):
    node("0000:01:00.0", H100)
    node("0000:02:00.0", b"\xff" * 64)
    (row,) = buses.present(ORDER, root=tmp_path)
    assert "0000:02:00.0 does not answer on the bus" == row.failed


def test_one_that_the_driver_holds_and_the_bus_lost_has_fallen_off(node, tmp_path):
    node("0000:01:00.0", H100)
    (tmp_path / "proc/driver/nvidia/gpus/0000:05:00.0").mkdir(parents=True)
    (row,) = buses.present(ORDER, root=tmp_path)
    assert "0000:05:00.0" in row.failed


def test_other_devices_are_none_of_its_business(node, tmp_path):
    node("0000:03:00.0", b"\xff" * 64, vendor="0x8086", kind="0x020000")
    (row,) = buses.present(ORDER, root=tmp_path)
    assert "no accelerator" in row.missing
