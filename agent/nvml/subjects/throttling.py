"""What holds the clocks down now."""

from ....vocabulary.device_faults import clock_reasons
from ..asking import Device


def read(device: Device) -> None:
    """Say 1 or 0 for each reason that the vocabulary names."""
    mask = device.ask("nvmlDeviceGetCurrentClocksEventReasons")
    if mask is None:  # the name before driver 535
        mask = device.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    if mask is None:
        return
    for one in clock_reasons():
        if one.reason:
            active = float(bool(mask & one.bit))
            device.report("hw.gpu.throttle", active, ("reason", one.reason))
