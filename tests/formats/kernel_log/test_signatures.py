from pathlib import Path

import pytest

from rankscope.formats.kernel_log import LogFault, signatures
from rankscope.vocabulary import events

LINES = (Path(__file__).parent / "signatures.log").read_text().splitlines()
"""signature|device|pid|the line as it was logged"""
EXAMPLES = [
    (name, device, int(pid) if pid else None, text)
    for name, device, pid, text in (line.split("|", 3) for line in LINES)
]


@pytest.mark.parametrize(("name", "device", "pid", "text"), EXAMPLES)
def test_a_known_line_is_told_by_its_signature(read, name, device, pid, text):
    fault, *_ = read(text)  # a line of the bus may be a device's fault, too
    assert isinstance(fault, LogFault)
    assert (name, device, pid, text) == (fault.signature, fault.device, fault.pid, fault.text)


def test_every_signature_has_an_example_above_and_a_role_of_the_contract():
    roles = events.catalogue()["log.fault"].values["role"]
    assert {one.name for one in signatures.catalogue()} == {example[0] for example in EXAMPLES}
    assert {one.role for one in signatures.catalogue()} <= set(roles)
    assert all(one.meaning for one in signatures.catalogue())


@pytest.mark.parametrize(
    "text",
    [
        "INFO: task python3:1234 blocked for more than 60 seconds.",
        "firefox[1]: segfault at 0 ip 00 sp 00 error 4 in libxul.so[7f+8b]",
        "traps: firefox[1] general protection fault ip:00 sp:00 error:0 in libxul.so[7f+8b]",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "nfs: server nfs01.example OK",
        "nvme nvme0: 32/0/0 default/read/poll queues",
        "pcieport 0000:16:01.0: AER: enabled with IRQ 35",
        "usb 1-1: new high-speed USB device",
        "mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) failed",
    ],
)  # fmt: skip
def test_ordinary_lines_tell_nothing(read, text):
    assert [] == read(text)
