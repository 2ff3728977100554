"""What is wrong with a device: memory errors, worn memory out of use, what the driver asks for."""

import pynvml

from ..asking import PolledDevice

_TYPES = {
    "corrected": pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
    "uncorrected": pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
}
_PARTS = {
    "hbm": pynvml.NVML_MEMORY_LOCATION_DRAM,
    "sram": pynvml.NVML_MEMORY_LOCATION_SRAM,
}


def ecc(device: PolledDevice) -> None:
    """Report errors by type and part; devices that do not separate parts have one total."""
    for error, kind in _TYPES.items():
        counted = False
        for part, location in _PARTS.items():
            count = device.ask(
                "nvmlDeviceGetMemoryErrorCounter", kind, pynvml.NVML_VOLATILE_ECC, location
            )
            if count is not None:
                counted = True
                _report_ecc(device, count, error, part)
        if not counted:
            count = device.ask("nvmlDeviceGetTotalEccErrors", kind, pynvml.NVML_VOLATILE_ECC)
            if count is not None:
                _report_ecc(device, count, error, "memory")


def _report_ecc(device: PolledDevice, count: float, error: str, part: str) -> None:
    device.report("hw.errors", count, ("error.type", error), ("hw.part", part))


_CAUSES = {
    "corrected": pynvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
    "uncorrected": pynvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
}
_BANKS = ("max", "high", "partial", "low", "none")


def remapping(device: PolledDevice) -> None:
    """Say remapped rows and their states, the spare rows left, retired pages."""
    rows = device.ask("nvmlDeviceGetRemappedRows")
    if rows is None:
        _retired_pages(device)
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


def _retired_pages(device: PolledDevice) -> None:
    for error, cause in _CAUSES.items():
        pages = device.ask("nvmlDeviceGetRetiredPages", cause)
        if pages is not None:
            device.report("hw.gpu.retired_pages", len(pages), ("error.type", error))
    pending = device.ask("nvmlDeviceGetRetiredPagesPendingStatus")
    if pending is not None:
        device.report("hw.gpu.retired_pages.pending", pending)


ACTIONS = (
    "none",
    "gpu_reset",
    "node_reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex",
    "bus_reset",
    "system_reboot",
)
"""NVML's recovery actions by number (nvml.h, nvmlDeviceGpuRecoveryAction)."""


def recovery(device: PolledDevice) -> None:
    """Say 1 for the action asked for; drivers before 570 do not know the field."""
    (number,) = device.fields(pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)
    if number is None or not 0 <= number < len(ACTIONS):
        return
    device.report("hw.gpu.recovery_action", 1, ("action", ACTIONS[int(number)]))
