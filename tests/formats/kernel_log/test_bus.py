"""Errors of the PCIe bus: whose device lies behind the port that reports one."""

import pytest

from rankscope.formats.kernel_log import DeviceFault, LogFault

TREE = (
    "pci 0000:16:01.0: PCI bridge to [bus 17]",
    "pci 0000:17:00.0: [10de:2330] type 00 class 0x030200",
    "pci 0000:26:01.0: PCI bridge to [bus 27-28]",
    "pci 0000:27:00.0: [15b3:1021] type 00 class 0x020700",
    "pci 0000:36:01.0: PCI bridge to [bus 37]",
)
UNRECOVERED = "nvidia 0000:3b:00.0: AER: can't recover (no error_detected callback)"
PORT = "pcieport 0000:3a:00.0: AER: Multiple Uncorrected ({}) error received: 0000:3a:00.0"
BUS = "{} 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer"


def devices(reports):
    return [(one.code, one.vendor, one.pci) for one in reports if isinstance(one, DeviceFault)]


def cards(reports):
    found = [one for one in reports if isinstance(one, LogFault)]
    return [one.device for one in found if one.signature == "nic.bus_error"]


@pytest.mark.parametrize(("grade", "code"), [("Fatal", "fatal"), ("Non-Fatal", "nonfatal")])
def test_a_port_s_error_is_that_of_the_device_whose_driver_cannot_recover(read, grade, code):
    found = read(PORT.format(grade), UNRECOVERED)
    assert [(f"pcie.{code}", "nvidia", "0000:3b:00.0")] == devices(found)


def test_a_driver_that_cannot_recover_long_after_a_fatal_error_lost_no_link(read):
    found = read(PORT.format("Fatal"), UNRECOVERED, apart=3600.0)
    assert ["pcie.nonfatal"] == [code for code, *_ in devices(found)]


@pytest.mark.parametrize(
    "line",
    [
        "pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:16:01.0",
        "pcieport 0000:16:01.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:16:01.0: DPC: containment event, ERR_FATAL received from 0000:17:00.0",
        "pcieport 0000:16:01.0: pciehp: Slot(9): Link Down",
        "pcieport 0000:16:01.0: pciehp: Slot(9): Card not present",
    ],
)
def test_what_was_listed_below_a_port_is_lost_with_it(read, line):
    found = read(*TREE, line)
    assert [("pcie.fatal", "nvidia", "0000:17:00.0")] == devices(found)
    assert not cards(found)


def test_a_network_card_behind_a_port_is_lost_with_it(read):
    found = read(*TREE, "pcieport 0000:26:01.0: pciehp: Slot(3): Link Down")
    assert (["0000:27:00.0"], []) == (cards(found), devices(found))


def test_a_port_behind_which_nothing_is_known_accuses_no_device(read):
    found = read(*TREE, "pcieport 0000:36:01.0: pciehp: Slot(4): Card not present")
    assert ([], []) == (cards(found), devices(found))


@pytest.mark.parametrize(
    ("driver", "expected"), [("nvidia", "nvidia"), ("amdgpu", "amd"), ("habanalabs", "habana")]
)
def test_the_driver_that_names_a_device_says_whose_it_is(read, driver, expected):
    assert [("pcie.fatal", expected, "0000:3b:00.0")] == devices(read(BUS.format(driver)))


def test_a_sound_function_or_a_disk_is_no_device_of_the_job(read):
    found = read(PORT.format("Fatal"), "snd_hda_intel 0000:3b:00.1: AER: can't recover (no "
                 "error_detected callback)", BUS.format("nvme"))  # fmt: skip
    assert ([], []) == (cards(found), devices(found))


@pytest.mark.parametrize(
    ("severity", "expected"),
    [("fatal", ["pcie.fatal"]), ("recoverable", ["pcie.nonfatal"]), ("corrected", [])],
)
def test_a_record_of_the_firmware_names_device_and_vendor_on_lines_of_their_own(
    read, severity, expected
):
    found = read(
        f"{{1}}[Hardware Error]: event severity: {severity}",
        "{1}[Hardware Error]:   section_type: PCIe error",
        "{1}[Hardware Error]:   device_id: 0000:c1:00.0",
        "{1}[Hardware Error]:   vendor_id: 0x10de, device_id: 0x2330",
    )
    assert expected == [code for code, *_ in devices(found)]


@pytest.mark.parametrize(
    "line",
    [
        "nvidia 0000:c1:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "nvidia 0000:c1:00.0: not ready 65535ms after bus reset; giving up",
    ],
)
def test_a_device_that_does_not_answer_a_reset_is_lost(read, line):
    assert [("pcie.fatal", "nvidia", "0000:c1:00.0")] == devices(read(line))


def test_an_error_that_was_corrected_accuses_nobody(read):
    found = read(
        *TREE,
        "pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0",
        "nvidia 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    )
    assert [] == devices(found)
