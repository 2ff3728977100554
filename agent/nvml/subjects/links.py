"""Links of a device: PCIe, each NVLink, and the errors of each since the driver was loaded."""

import pynvml

from ..asking import PolledDevice

_LINK = {
    "hw.gpu.pcie.width": "nvmlDeviceGetCurrPcieLinkWidth",
    "hw.gpu.pcie.width.max": "nvmlDeviceGetMaxPcieLinkWidth",
    "hw.gpu.pcie.generation": "nvmlDeviceGetCurrPcieLinkGeneration",
    "hw.gpu.pcie.generation.max": "nvmlDeviceGetMaxPcieLinkGeneration",
    "hw.gpu.pcie.replays": "nvmlDeviceGetPcieReplayCounter",
}
_BYTES = {
    "transmit": pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
    "receive": pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES,
}


def pcie(device: PolledDevice) -> None:
    """Say the link's state; an idle link runs at a lower generation to save power.

    nvmlDeviceGetPcieThroughput is left alone: each call measures for 20 ms, in which it blocks.
    """
    for metric, function in _LINK.items():
        value = device.ask(function)
        if value is not None:
            device.report(metric, value)
    for direction, count in zip(_BYTES, device.fields(*_BYTES.values()), strict=True):
        if count is not None:
            device.report("hw.gpu.pcie.io", count, ("direction", direction))


_MOST = 18
"""Links a device may have (Hopper and Blackwell: 18)."""
_ALL = 0xFFFFFFFF
"""The scope of a field that counts over all links."""
_DATA = {
    "transmit": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
    "receive": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
}


def nvlink(device: PolledDevice) -> None:
    """Say the state of every link, and bytes in all; NVML counts those in KiB."""
    there = links(device)
    for link, state in there.items():
        device.report("hw.gpu.nvlink.up", state, ("link", link))
    if not there:
        return
    moved = device.fields(*((number, _ALL) for number in _DATA.values()))
    for direction, kibibytes in zip(_DATA, moved, strict=True):
        if kibibytes is not None:
            device.report("hw.gpu.nvlink.io", kibibytes * 1024, ("direction", direction))


def links(device: PolledDevice) -> dict[int, int]:
    """Return the state of each link there is, by its number."""
    asked = {link: device.ask("nvmlDeviceGetNvLinkState", link) for link in range(_MOST)}
    return {link: int(state) for link, state in asked.items() if state is not None}


_OLD = {
    "crc": pynvml.NVML_NVLINK_ERROR_DL_CRC_FLIT,
    "replay": pynvml.NVML_NVLINK_ERROR_DL_REPLAY,
    "recovery": pynvml.NVML_NVLINK_ERROR_DL_RECOVERY,
}
"""Error counters to NVLink 4."""
_NEW = {
    "crc": pynvml.NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS,
    "recovery": pynvml.NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS,
}
"""Their successors from NVLink 5 on, as fields with the link as scope."""


def nvlink_errors(device: PolledDevice) -> None:
    there = links(device)
    if not there:
        return
    for link in there:
        for error, number in _OLD.items():
            count = device.ask("nvmlDeviceGetNvLinkErrorCounter", link, number)
            if count is not None:
                _report(device, count, link, error)
    if not device.kept.get("nvlink fields", True):
        return
    wanted = [(link, error, number) for link in there for error, number in _NEW.items()]
    counts = device.fields(*((number, link) for link, _, number in wanted))
    device.kept["nvlink fields"] = any(count is not None for count in counts)
    for (link, error, _), count in zip(wanted, counts, strict=True):
        if count is not None:
            _report(device, count, link, error)


def _report(device: PolledDevice, count: float, link: int, error: str) -> None:
    device.report("hw.gpu.nvlink.errors", count, ("link", link), ("error.type", error))
