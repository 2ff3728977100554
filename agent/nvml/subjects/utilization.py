"""How busy a device is, as the driver samples it: shares of time, not of capacity."""

from ..asking import Device


def read(device: Device) -> None:
    """Say utilizations as ratios; NVML gives percent."""
    rates = device.ask("nvmlDeviceGetUtilizationRates")
    if rates is not None:
        device.report("hw.gpu.utilization", rates.gpu / 100)
        device.report("hw.gpu.memory.copy.utilization", rates.memory / 100)
    for engine in ("Encoder", "Decoder"):
        answer = device.ask(f"nvmlDeviceGet{engine}Utilization")  # with its sampling period
        if answer is not None:
            device.report(f"hw.gpu.{engine.lower()}.utilization", answer[0] / 100)
