"""What a device is (model, serial number, driver, firmware, place on the bus), and who uses it."""

from ..asking import PolledDevice


def identity(device: PolledDevice) -> None:
    """Say `hw.gpu.info`; asked once, since none of it changes while the driver is loaded."""
    facts = device.kept.get("identity")
    if facts is None:
        facts = device.kept["identity"] = _asked(device)
    device.report("hw.gpu.info", 1, *facts)


def _asked(device: PolledDevice) -> tuple[tuple[str, str | int], ...]:
    pci = device.ask("nvmlDeviceGetPciInfo_v3")
    known = {
        "hw.model": device.ask("nvmlDeviceGetName"),
        "hw.serial_number": device.ask("nvmlDeviceGetSerial"),
        "hw.driver_version": device.kept.get("driver"),
        "hw.firmware_version": device.ask("nvmlDeviceGetVbiosVersion"),
        "pci.bus_id": None if pci is None else pci.busId,
    }
    facts: list[tuple[str, str | int]] = [
        (name, text(value)) for name, value in known.items() if value
    ]
    minor = device.ask("nvmlDeviceGetMinorNumber")
    if minor is not None:
        facts.append(("hw.minor", int(minor)))
    return tuple(facts)


def text(value: object) -> str:
    """Return what pynvml gives as bytes or text, by its version, as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def processes(device: PolledDevice) -> None:
    """Say bytes by pid, as the driver sees it: in a container with the host's pids, the host's."""
    held: dict[int, int] = {}
    for kind in ("Compute", "Graphics"):
        for process in device.ask(f"nvmlDeviceGet{kind}RunningProcesses_v3") or ():
            held[process.pid] = max(held.get(process.pid, 0), process.usedGpuMemory or 0)
    for pid, memory in sorted(held.items()):
        device.report("hw.gpu.process.memory", memory, ("pid", pid))
