"""NVLink: each link's state and errors, bytes in all."""

import pynvml

from ..asking import Device

_MOST = 18
"""Links a device may have (Hopper and Blackwell: 18)."""
_ALL = 0xFFFFFFFF
"""The scope of a field that counts over all links."""

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
_DATA = {
    "transmit": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
    "receive": pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
}


def read(device: Device) -> None:
    """Say state and errors of every link, and bytes in all; NVML counts those in KiB."""
    links = [link for link in range(_MOST) if _up(device, link)]
    if not links:
        return
    for link in links:
        for error, number in _OLD.items():
            count = device.ask("nvmlDeviceGetNvLinkErrorCounter", link, number)
            if count is not None:
                _say(device, count, link, error)
    wanted = [(link, error, number) for link in links for error, number in _NEW.items()]
    if device.kept.get("nvlink fields", True):
        counts = device.fields(*((number, link) for link, _, number in wanted))
        device.kept["nvlink fields"] = any(count is not None for count in counts)
        for (link, error, _), count in zip(wanted, counts, strict=True):
            if count is not None:
                _say(device, count, link, error)
    moved = device.fields(*((number, _ALL) for number in _DATA.values()))
    for direction, kibibytes in zip(_DATA, moved, strict=True):
        if kibibytes is not None:
            device.say("hw.gpu.nvlink.io", kibibytes * 1024, ("direction", direction))


def _up(device: Device, link: int) -> bool:
    """Say a link's state; tell whether there is such a link."""
    state = device.ask("nvmlDeviceGetNvLinkState", link)
    if state is None:
        return False
    device.say("hw.gpu.nvlink.up", state, ("link", link))
    return True


def _say(device: Device, count: float, link: int, error: str) -> None:
    device.say("hw.gpu.nvlink.errors", count, ("link", link), ("error.type", error))
