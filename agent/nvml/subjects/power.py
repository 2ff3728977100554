"""Power drawn and allowed, energy used."""

from ..asking import Device


def read(device: Device) -> None:
    """Say watts and joules; NVML gives thousandths of both."""
    drawn = device.ask("nvmlDeviceGetPowerUsage")
    if drawn is not None:
        device.report("hw.power", drawn / 1000)
    limit = device.ask("nvmlDeviceGetEnforcedPowerLimit")
    if limit is not None:
        device.report("hw.power.limit", limit / 1000)
    energy = device.ask("nvmlDeviceGetTotalEnergyConsumption")
    if energy is not None:
        device.report("hw.energy", energy / 1000)
