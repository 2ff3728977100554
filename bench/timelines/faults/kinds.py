"""All faults: what strikes, and what a job and its reporter need that it shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import balance, gpu, host, memory, network, numerics, software
from .scene import FaultScene


@dataclass(frozen=True, slots=True)
class FaultKind:
    """`plan`: fields of JobPlan without which it shows nothing; `needs`: of ReporterPlan."""

    strike: Callable[[FaultScene], None]
    plan: dict[str, Any] = field(default_factory=dict)
    needs: str = "phases"
    only_plain: bool = False
    held_back: bool = False


_APART = {"hosts": 2, "transfer": 0.25, "pod_factor": 1.0}
_FOUR = {**_APART, "hosts": 4, "per_host": 4}
_LEARNING = {"start_step": 0, "kind": "pretraining", "rate_restarts": 0, "pp": 1}
_AGAIN = {"restart_at": 0.45, "save_every": 30, "save_seconds": 2.0}
_FED = {"loader_share": 0.6, "prefetch": 4}

FAULTS: dict[str, FaultKind] = {
    "gpu.lost": FaultKind(gpu.lost_device, only_plain=True),
    "gpu.memory_uncorrectable": FaultKind(gpu.uncorrectable, only_plain=True),
    "gpu.row_remap": FaultKind(gpu.remapped_row),
    "gpu.firmware_hang": FaultKind(gpu.hung_firmware, only_plain=True),
    "gpu.nvlink": FaultKind(gpu.bad_nvlink, {"tp": 4, "pp": 1, "per_host": 8, "micro": 4}),
    "gpu.pcie_degraded": FaultKind(gpu.narrow_bus),
    "gpu.thermal_throttle": FaultKind(gpu.hot_device, needs="phases throttle frequency"),
    "gpu.power_limited": FaultKind(
        gpu.capped_host, {"hosts": 2}, needs="phases throttle frequency"
    ),
    "gpu.clock_locked": FaultKind(gpu.locked_clock, needs="phases throttle frequency"),
    "gpu.foreign_process": FaultKind(gpu.foreign_process, held_back=True),
    "gpu.slow": FaultKind(gpu.slow_device),
    "memory.gpu_oom": FaultKind(memory.device_full, {"memory_share": 0.7}, only_plain=True),
    "memory.gpu_leak": FaultKind(memory.leaking_device, {"memory_share": 0.45}),
    "memory.fragmentation": FaultKind(memory.fragmentation, {"memory_share": 0.5}, held_back=True),
    "memory.rank0_contexts": FaultKind(
        memory.contexts, {"per_host": 8}, needs="process placed", only_plain=True
    ),
    "memory.host_leak": FaultKind(memory.leaking_trainer, needs="process"),
    "memory.dataloader_leak": FaultKind(
        memory.leaking_loader, {"respawn": False, "epoch_steps": 0}, needs="process"
    ),
    "memory.host_oom": FaultKind(memory.host_memory, only_plain=True),
    "memory.shm_exhausted": FaultKind(memory.shared_memory, only_plain=True),
    "balance.rank0_gather": FaultKind(balance.gather, {"pp": 1}),
    "balance.rank0_preprocessing": FaultKind(balance.preprocessing, {"pp": 1}),
    "balance.pipeline_stage": FaultKind(
        balance.heavy_stage, {**_FOUR, "pp": 4, "tp": 1, "micro": 4, "ep": 1}
    ),
    "balance.sequence_length": FaultKind(balance.long_sequences, {"pp": 1}),
    "balance.expert": FaultKind(
        balance.busy_expert, {"ep": 4, "pp": 1, "tp": 1, "hosts": 2}, needs="phases collective"
    ),
    "network.nic_down": FaultKind(network.port_down, _APART, needs="phases network"),
    "network.link_flap": FaultKind(network.flapping, _APART, needs="phases network"),
    "network.cable_errors": FaultKind(network.bad_cable, _APART, needs="phases network"),
    "network.switch": FaultKind(
        network.bad_switch, _FOUR, needs="phases network switch", held_back=True
    ),
    "network.congestion": FaultKind(network.congestion, _FOUR, needs="phases network"),
    "network.transport_fallback": FaultKind(network.sockets, _APART, needs="phases network"),
    "network.bootstrap_failed": FaultKind(network.bootstrap, _APART, only_plain=True),
    "host.cpu_contention": FaultKind(host.busy_host, {"hosts": 2, **_FED}),
    "host.lost": FaultKind(host.lost_host, {"hosts": 3}, only_plain=True),
    "host.evicted": FaultKind(host.evicted, {"hosts": 2}, only_plain=True),
    "host.storage_slow": FaultKind(host.slow_storage, _FED),
    "host.disk_full": FaultKind(host.full_disk, {"hosts": 2, "disk_base": 0.6}, only_plain=True),
    "host.clock_skew": FaultKind(host.skewed_clock, {"hosts": 3}),
    "host.config_drift": FaultKind(host.drifted, {"hosts": 3}),
    "host.driver_hang": FaultKind(host.hung_driver, {"hosts": 2}, only_plain=True),
    "software.init_failed": FaultKind(software.not_started, only_plain=True),
    "software.stuck_process": FaultKind(software.stuck, needs="phases collective", only_plain=True),
    "software.deadlock": FaultKind(software.deadlock, needs="phases collective", only_plain=True),
    "software.uneven_batches": FaultKind(
        software.uneven, needs="phases collective", only_plain=True
    ),
    "software.dataloader_slow": FaultKind(software.slow_loader, _FED),
    "software.gc_pause": FaultKind(software.collections),
    "software.checkpoint_stall": FaultKind(
        software.slow_saves,
        {"save_every": 45, "save_seconds": 6.0, "save_async": False},
        held_back=True,
    ),
    "software.regression": FaultKind(software.regression, _AGAIN),
    "software.recompile": FaultKind(software.recompiles),
    "software.crash": FaultKind(software.crash, only_plain=True),
    "numerics.nan_precision": FaultKind(
        numerics.underflow, {**_LEARNING, "scale": 65536.0, "overflow_every": 0}, only_plain=True
    ),
    "numerics.nan_rank": FaultKind(
        numerics.bad_rank, {"pp": 1}, needs="phases values", only_plain=True
    ),
    "numerics.loss_spike": FaultKind(numerics.bad_values("spike"), _LEARNING),
    "numerics.divergence": FaultKind(numerics.bad_values("divergence"), _LEARNING),
    "numerics.gradient_explosion": FaultKind(
        numerics.bad_values("explosion"), {**_LEARNING, "clip": 0.0}
    ),
    "numerics.gradient_vanishing": FaultKind(
        numerics.bad_values("vanishing"), {**_LEARNING, "clip": 0.0}
    ),
    "numerics.bad_resume": FaultKind(numerics.bad_resume, {**_LEARNING, **_AGAIN}, held_back=True),
}
