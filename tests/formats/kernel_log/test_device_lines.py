from pathlib import Path

import pytest

from rankscope.detectors.hardware import fault_codes
from rankscope.formats.kernel_log import DeviceFault, KernelLogParser, device_lines
from rankscope.vocabulary import device_faults

LINES = (Path(__file__).parent / "device_lines.log").read_text().splitlines()
"""code|vendor|device|the line as it was logged"""
EXAMPLES = [tuple(line.split("|", 3)) for line in LINES]


@pytest.mark.parametrize(("code", "vendor", "named", "text"), EXAMPLES)
def test_a_driver_s_words_are_a_fault_of_its_device(read, code, vendor, named, text):
    (fault,) = read(text)
    assert isinstance(fault, DeviceFault)
    assert (code, vendor, named, text) == (fault.code, fault.vendor, fault.named, fault.text)


def test_every_line_has_an_example_above_and_a_meaning_in_the_tables():
    assert {one.code for one in device_lines.catalogue()} == {example[0] for example in EXAMPLES}
    for one in device_lines.catalogue():
        known = device_faults.find(one.vendor, one.code)
        assert known.known, one.code
        application = known.fault_class == "application"
        assert application == (one.code in fault_codes.APPLICATION), one.code
        assert application != (one.code in fault_codes.KINDS), one.code


def test_what_a_driver_does_about_a_fault_is_none_of_its_own(read):
    """One device of a hive fails, and all are reset."""
    (fault,) = read(
        "amdgpu 0000:9d:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!",
        "amdgpu 0000:3d:00.0: amdgpu: GPU reset begin!",
    )
    assert ("amdgpu.uncorrectable", "0000:9d:00.0") == (fault.code, fault.pci)


def test_a_reset_by_itself_is_a_fault_and_one_an_hour_later_is_another():
    parser = KernelLogParser()
    text = "amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!"
    assert [1, 0, 1] == [len(parser.feed(text, at)) for at in (0.0, 1.0, 3600.0)]


def test_a_driver_that_cannot_start_a_device_that_fell_off_the_bus_says_nothing_new(read):
    codes = [
        fault.code
        for fault in read(
            "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.",
            "NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
            "NVRM: GPU 0000:18:00.0: RmInitAdapter failed! (0x62:0xffff:2028)",
            "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
        )
    ]
    assert ["79"] == codes
