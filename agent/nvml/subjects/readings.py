"""What a device reads now: memory, temperatures, power, clocks, what holds them, how busy it is."""

import pynvml

from .. import clock_words
from ..asking import PolledDevice


def utilization(device: PolledDevice) -> None:
    """Say utilizations as ratios; NVML gives percent."""
    rates = device.ask("nvmlDeviceGetUtilizationRates")
    if rates is not None:
        device.report("hw.gpu.utilization", rates.gpu / 100)
        device.report("hw.gpu.memory.copy.utilization", rates.memory / 100)
    for engine in ("Encoder", "Decoder"):
        answer = device.ask(f"nvmlDeviceGet{engine}Utilization")  # with its sampling period
        if answer is not None:
            device.report(f"hw.gpu.{engine.lower()}.utilization", answer[0] / 100)


def memory_of(device: PolledDevice) -> None:
    """Report bytes. The second version separates what is reserved from what is used."""
    memory = device.ask("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2)
    if memory is not None:
        device.report("hw.gpu.memory.reserved", memory.reserved)
    else:
        memory = device.ask("nvmlDeviceGetMemoryInfo")
    if memory is not None:
        device.report("hw.gpu.memory.usage", memory.used)
        device.report("hw.gpu.memory.limit", memory.total)


_LIMITS = {
    "slowdown": pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN,
    "shutdown": pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN,
    "memory_max": pynvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX,
    "gpu_max": pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX,
}


def temperature(device: PolledDevice) -> None:
    """Say degrees Celsius.

    The margin to slowdown is left alone: some devices answer 0 or less where they mean that they
    do not know, and the limits say the same without it. A memory without a sensor reads 0.
    """
    degrees = device.ask("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU)
    if degrees is not None:
        device.report("hw.temperature", degrees, ("hw.sensor", "gpu"))
    (memory,) = device.fields(pynvml.NVML_FI_DEV_MEMORY_TEMP)
    if memory:
        device.report("hw.temperature", memory, ("hw.sensor", "memory"))
    limits = device.kept.get("temperature limits")
    if limits is None:
        limits = device.kept["temperature limits"] = {
            name: device.ask("nvmlDeviceGetTemperatureThreshold", number)
            for name, number in _LIMITS.items()
        }
    for name, limit in limits.items():
        if limit:
            device.report("hw.temperature.limit", limit, ("limit", name))


def power(device: PolledDevice) -> None:
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


_DOMAINS = {"sm": pynvml.NVML_CLOCK_SM, "memory": pynvml.NVML_CLOCK_MEM}


def clocks(device: PolledDevice) -> None:
    """Say hertz; NVML gives megahertz."""
    for domain, number in _DOMAINS.items():
        now = device.ask("nvmlDeviceGetClockInfo", number)
        if now is not None:
            device.report("hw.frequency", now * 1e6, ("domain", domain))
        most = device.ask("nvmlDeviceGetMaxClockInfo", number)
        if most is not None:
            device.report("hw.frequency.limit", most * 1e6, ("domain", domain))


def throttling(device: PolledDevice) -> None:
    """Say 1 or 0 for each reason that the contract names."""
    mask = device.ask("nvmlDeviceGetCurrentClocksEventReasons")
    if mask is None:  # the name before driver 535
        mask = device.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    if mask is None:
        return
    for bit, reason in clock_words.reasons():
        device.report("hw.gpu.throttle", float(bool(mask & bit)), ("reason", reason))


_POLICIES = {
    "power_cap": pynvml.NVML_PERF_POLICY_POWER,
    "thermal_sw": pynvml.NVML_PERF_POLICY_THERMAL,
    "sync_boost": pynvml.NVML_PERF_POLICY_SYNC_BOOST,
    "board_limit": pynvml.NVML_PERF_POLICY_BOARD_LIMIT,
    "idle": pynvml.NVML_PERF_POLICY_LOW_UTILIZATION,
    "reliability": pynvml.NVML_PERF_POLICY_RELIABILITY,
}


def violations(device: PolledDevice) -> None:
    """Say seconds where the device counts them; NVML gives nanoseconds."""
    for reason, policy in _POLICIES.items():
        held = device.ask("nvmlDeviceGetViolationStatus", policy)
        if held is not None:
            device.report("hw.gpu.throttle.duration", held.violationTime / 1e9, ("reason", reason))
