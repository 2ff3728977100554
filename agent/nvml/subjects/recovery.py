"""What the driver itself asks to be done about the device."""

import pynvml

from ..asking import Device

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


def read(device: Device) -> None:
    """Say 1 for the action asked for; drivers before 570 do not know the field."""
    (number,) = device.fields(pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)
    if number is None or not 0 <= number < len(ACTIONS):
        return
    device.report("hw.gpu.recovery_action", 1, ("action", ACTIONS[int(number)]))
