"""The processes that hold memory on a device."""

from ..asking import Device


def read(device: Device) -> None:
    """Say bytes by pid, as the driver sees it: in a container with the host's pids, the host's."""
    held: dict[int, int] = {}
    for kind in ("Compute", "Graphics"):
        for process in device.ask(f"nvmlDeviceGet{kind}RunningProcesses_v3") or ():
            held[process.pid] = max(held.get(process.pid, 0), process.usedGpuMemory or 0)
    for pid, memory in sorted(held.items()):
        device.report("hw.gpu.process.memory", memory, ("pid", pid))
