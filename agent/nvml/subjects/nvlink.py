"""NVLink: each link's state, bytes in all."""

import pynvml

from ..asking import Device

_MOST = 18
"""Links a device may have (Hopper and Blackwell: 18)."""
_ALL = 0xFFFFFFFF
"""The scope of a field that counts over all links."""
_DATA = {
    "transmit": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
    "receive": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
}


def read(device: Device) -> None:
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


def links(device: Device) -> dict[int, int]:
    """Return the state of each link there is, by its number."""
    asked = {link: device.ask("nvmlDeviceGetNvLinkState", link) for link in range(_MOST)}
    return {link: int(state) for link, state in asked.items() if state is not None}
