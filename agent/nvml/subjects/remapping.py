"""Worn memory put out of use: rows remapped (Ampere and later), pages retired (before)."""

import pynvml

from ..asking import Device

_CAUSES = {
    "corrected": pynvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
    "uncorrected": pynvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
}
_BANKS = ("max", "high", "partial", "low", "none")


def read(device: Device) -> None:
    """Say remapped rows and their states, the spare rows left, retired pages."""
    rows = device.ask("nvmlDeviceGetRemappedRows")
    if rows is None:
        _pages(device)
        return
    corrected, uncorrected, pending, failed = rows
    device.report("hw.gpu.row_remaps", corrected, ("error.type", "corrected"))
    device.report("hw.gpu.row_remaps", uncorrected, ("error.type", "uncorrected"))
    device.report("hw.gpu.row_remap", pending, ("state", "pending"))
    device.report("hw.gpu.row_remap", failed, ("state", "failed"))
    banks = device.ask("nvmlDeviceGetRowRemapperHistogram")
    if banks is not None:
        for name in _BANKS:
            device.report("hw.gpu.row_remap.banks", getattr(banks, name), ("availability", name))


def _pages(device: Device) -> None:
    for error, cause in _CAUSES.items():
        pages = device.ask("nvmlDeviceGetRetiredPages", cause)
        if pages is not None:
            device.report("hw.gpu.retired_pages", len(pages), ("error.type", error))
    pending = device.ask("nvmlDeviceGetRetiredPagesPendingStatus")
    if pending is not None:
        device.report("hw.gpu.retired_pages.pending", pending)
