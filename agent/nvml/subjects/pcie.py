"""The PCIe link: width, generation, replays, bytes."""

import pynvml

from ..asking import Device

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


def read(device: Device) -> None:
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
