"""Eight devices' worth of the vocabulary's samples, as NVML's reader says them."""

from collections.abc import Callable

import pytest

from rankscope.vocabulary.samples import Sample, Scalar, attributes

DRIVER = "550.54.15"
MODEL = "NVIDIA H100 80GB HBM3"
PLAIN: dict[str, float] = {
    "hw.gpu.utilization": 0.57,
    "hw.gpu.memory.copy.utilization": 0.31,
    "hw.gpu.encoder.utilization": 0.0,
    "hw.gpu.decoder.utilization": 0.02,
    "hw.gpu.memory.usage": 60 * 2**30,
    "hw.gpu.memory.limit": 80 * 2**30,
    "hw.gpu.memory.reserved": 512 * 2**20,
    "hw.power": 612.3456789,
    "hw.power.limit": 700.0,
    "hw.energy": 123456.789,
    "hw.gpu.pcie.replays": 3.0,
    "hw.gpu.pcie.width": 16.0,
    "hw.gpu.pcie.generation": 5.0,
    "hw.gpu.graphics.activity": 0.91,
    "hw.gpu.sm.activity": 0.8125,
    "hw.gpu.sm.occupancy": 0.25,
    "hw.gpu.tensor.activity": 0.375,
    "hw.gpu.memory.activity": 0.5,
}
VARIED: list[tuple[str, dict[str, Scalar], float]] = [
    ("hw.temperature", {"hw.sensor": "gpu"}, 41.0),
    ("hw.temperature", {"hw.sensor": "memory"}, 52.0),
    ("hw.frequency", {"domain": "sm"}, 1755e6),
    ("hw.frequency", {"domain": "memory"}, 2619e6),
    ("hw.frequency.limit", {"domain": "sm"}, 1980e6),
    ("hw.gpu.throttle", {"reason": "power_cap"}, 1.0),
    ("hw.gpu.throttle", {"reason": "thermal_hw"}, 1.0),
    ("hw.gpu.throttle", {"reason": "idle"}, 0.0),
    ("hw.gpu.throttle.duration", {"reason": "power_cap"}, 2.5),
    ("hw.gpu.throttle.duration", {"reason": "thermal_sw"}, 0.25),
    ("hw.errors", {"error.type": "corrected", "hw.part": "hbm"}, 5.0),
    ("hw.errors", {"error.type": "corrected", "hw.part": "sram"}, 2.0),
    ("hw.errors", {"error.type": "uncorrected", "hw.part": "hbm"}, 0.0),
    ("hw.errors", {"error.type": "corrected", "hw.part": "pcie"}, 99.0),
    ("hw.gpu.row_remap", {"state": "pending"}, 1.0),
    ("hw.gpu.row_remap", {"state": "failed"}, 0.0),
    ("hw.gpu.row_remaps", {"error.type": "uncorrected"}, 1.0),
    ("hw.gpu.row_remaps", {"error.type": "corrected"}, 4.0),
    ("hw.gpu.pcie.throughput", {"direction": "transmit"}, 1000.0),
    ("hw.gpu.pcie.throughput", {"direction": "receive"}, 2000.0),
    ("hw.gpu.nvlink.throughput", {"direction": "transmit"}, 512000000.0),
    ("hw.gpu.nvlink.throughput", {"direction": "receive"}, 512000000.0),
    ("hw.gpu.pipe.activity", {"pipe": "fp16"}, 0.125),
    ("hw.gpu.recovery_action", {"action": "gpu_reset"}, 1.0),
]
for _link in range(4):
    VARIED.append(("hw.gpu.nvlink.up", {"link": _link}, 1.0))
    VARIED.extend(
        ("hw.gpu.nvlink.errors", {"link": _link, "error.type": kind}, float(_link))
        for kind in ("crc", "replay", "recovery")
    )


def of_gpu(index: int, *, at: float = 1.0) -> list[Sample]:
    me: dict[str, Scalar] = {"hw.id": f"GPU-{index}", "gpu": index, "hw.vendor": "nvidia"}
    info: dict[str, Scalar] = {
        **me,
        "hw.model": MODEL,
        "hw.driver_version": DRIVER,
        "pci.bus_id": f"0000:{index + 7:02x}:00.0",
    }
    samples = [Sample("hw.gpu.info", 1.0, at, attributes(info))]
    samples += [Sample(name, value, at, attributes(me)) for name, value in PLAIN.items()]
    samples += [
        Sample(name, value, at, attributes({**me, **pairs})) for name, pairs, value in VARIED
    ]
    return samples


@pytest.fixture
def gpu() -> Callable[..., list[Sample]]:
    return of_gpu
