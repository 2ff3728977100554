"""Errors of each NVLink since the driver was loaded."""

import pynvml

from ..asking import Device
from .nvlink import links

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


def read(device: Device) -> None:
    """Say the errors of every link."""
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


def _report(device: Device, count: float, link: int, error: str) -> None:
    device.report("hw.gpu.nvlink.errors", count, ("link", link), ("error.type", error))
