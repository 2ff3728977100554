"""What a device is: model, serial number, driver, firmware, place on the bus."""

from ..asking import Device


def read(device: Device) -> None:
    """Say `hw.gpu.info`; asked once, since none of it changes while the driver is loaded."""
    facts = device.kept.get("identity")
    if facts is None:
        facts = device.kept["identity"] = _asked(device)
    device.report("hw.gpu.info", 1, *facts)


def _asked(device: Device) -> tuple[tuple[str, str], ...]:
    pci = device.ask("nvmlDeviceGetPciInfo_v3")
    known = {
        "hw.model": device.ask("nvmlDeviceGetName"),
        "hw.serial_number": device.ask("nvmlDeviceGetSerial"),
        "hw.driver_version": device.kept.get("driver"),
        "hw.firmware_version": device.ask("nvmlDeviceGetVbiosVersion"),
        "pci.bus_id": None if pci is None else pci.busId,
    }
    return tuple((name, text(value)) for name, value in known.items() if value)


def text(value: object) -> str:
    """Return what pynvml gives as bytes or text, by its version, as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
