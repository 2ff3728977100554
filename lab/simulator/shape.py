"""What a scenario is made of: the cluster, its jobs, how it reports, and the fault if any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EPOCH = 1_772_438_400.0
"""Seconds since the epoch at which every recording starts: 2026-03-02 08:00 UTC. Fixed, so that
one scenario and seed always give the same bytes."""


Strength = Literal["plain", "weak"]
"""plain: as people meet it. weak: an effect of 5-10 %, or a sign that is easily overlooked."""


Accelerator = Literal["nvidia", "amd", "ascend", "hygon", "cambricon"]
DevicesBy = Literal["agent", "dcgm", "exporter"]
"""Who reads the devices: our agent through NVML, dcgm-exporter, or the vendor's own exporter."""


class ScenarioError(ValueError):
    """A scenario that makes no sense; the text names it and the field."""


@dataclass(frozen=True, slots=True)
class ReportingHabits:
    """How telemetry leaves the hosts. All times in seconds.

    `push` is the interval of a host's deliveries, `rank` that of per-rank readings, `node` that of
    host and device readings. `clock` is the standard deviation of the hosts' clock offsets and
    `clock_off` gives single hosts a fixed one. `late` (host, from, to) holds a host's deliveries
    back in that time range: they come all at once at its end, as after a network outage.
    `agent_restarts` (host, from, to) lets an agent be away: what it would have read is lost.
    `hidden` metrics and events never leave; a trailing `*` stands for any ending. `attributed`
    reports whether device readings carry the rank and job, as our agent's do, or only the device,
    as a foreign exporter's would. `devices` are read by our agent or by an exporter (always its own
    for other vendors than NVIDIA), every `device_period` (0: as `node`). `kernel_log` tells whether
    the agent may read the kernel's log. `launch_counts`: the collective library's own counts per
    kind are read (NCCL RAS); `stacks`: the stacks of processes that make no progress are taken.
    """

    push: float = 1.0
    rank: float = 5.0
    node: float = 5.0
    clock: float = 0.005
    clock_off: Mapping[str, float] = field(default_factory=dict)
    late: tuple[tuple[int, float, float], ...] = ()
    hidden: tuple[str, ...] = ()
    attributed: bool = True
    agent_restarts: tuple[tuple[int, float, float], ...] = ()
    collective_statistics: bool = False
    launch_counts: bool = False
    stacks: bool = False
    devices: DevicesBy = "agent"
    device_period: float = 0.0
    kernel_log: bool = True

    def shows(self, name: str) -> bool:
        """Tell whether a metric or event of this name is reported at all."""
        return not any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
            for pattern in self.hidden
        )


@dataclass(frozen=True, slots=True)
class SimulatedCluster:
    """The machines. `slots` = devices (places for a rank) on each host; `cores` = CPUs of each.

    `models` are the device models (SM clock in Hz, power limit in W), which the hosts take in turn;
    another `accelerator` than NVIDIA's brings its own. `nics` = network ports of each host; with
    `rails` port k of every host hangs on the leaf switches of rail k, else all ports of a host on
    one leaf switch, `hosts_per_switch` hosts together. Normal life: `power_cap` is the operator's
    power limit for all devices, as a ratio; `hot` devices (host, place, degrees) stand in warmer
    air; `corrected` ECC errors (host, place, an hour) and `noisy_ports` with single symbol errors
    (host, port, an hour); `warnings` = harmless lines of the kernel log an hour and host; `booted`
    hosts (host, at) come up at that time; `links_rest` lets idle PCIe links fall to generation 1.
    """

    hosts: int = 2
    slots: int = 2
    cores: int = 16
    gpus: bool = True
    name: str = "lab"
    hosts_per_switch: int = 8
    models: tuple[tuple[float, float], ...] = ((1_980e6, 700.0),)
    accelerator: Accelerator = "nvidia"
    nics: int = 1
    rails: bool = False
    power_cap: float = 1.0
    hot: tuple[tuple[int, int, float], ...] = ()
    corrected: tuple[tuple[int, int, float], ...] = ()
    noisy_ports: tuple[tuple[int, int, float], ...] = ()
    warnings: float = 0.0
    booted: tuple[tuple[int, float], ...] = ()
    links_rest: bool = True

    def model(self, host: int) -> tuple[float, float]:
        """Return a host's device model: SM clock in Hz, power limit in W."""
        return self.models[host % len(self.models)]


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """One training job. Durations are shares of `step_seconds`, the healthy step.

    `hosts` and `slots` are the places it takes (empty: all). `tp` and `pp` split the model; the
    rest of the ranks is data-parallel. `cpu_bound` is the CPU time a rank needs to keep its device
    fed, as a share of the device's time (>= 1: the CPU is what limits; without devices it does).
    `noise` is the spread of a rank's compute time from step to step, `skew` the lasting spread
    between devices. `hiccups` is the chance, per rank and step, of a stray delay (collector pauses,
    interrupts). `variable_length` is the spread of the tokens per rank and step. `spins` reports
    whether a rank that waits in a collective burns its CPU. `stage_load` are the loads of the
    pipeline stages against each other. `announces` tells whether evaluation, checkpoints and the
    end are announced as phases. `loss_scale` is where dynamic loss scaling starts (0: none), and
    `loss_scale_fits` the largest scale that does not overflow. A requeue ends it `stopped_by`
    "term" (SIGTERM), "term_kill" (SIGKILL for those who do not end) or "kill".

    Physics: `ep` ranks share the experts of a layer, on which a rank spends `moe` of its compute.
    `overlap` is the share of backward beneath which the gradients' reduction can hide; `clips`
    reports whether the norm of all gradients is taken, which makes everybody meet once a step.
    `micro_batches` fill the pipeline (0: four a stage). `attention` is the share of compute that
    grows with the square of the tokens. `other` is time outside forward and backward (logging).
    `drift` is the amplitude of slow changes of everybody's speed, over `drift_seconds`. `gc` is the
    chance of a collector's pause per rank and step, of `gc_seconds`; `gc_reported` whether it is
    measured. `second_group`: metrics are reduced in a group of their own. `sizes`: hosts of each
    attempt, in the place of all (elastic).

    Memory: `static` and `activations` as shares of the device's; `inherited` bytes that a data
    loader's worker shares with its trainer; `host_memory_steady` seconds until a process has grown.

    Numerics: the loss falls from `loss_start` to `loss_floor`, half-way after about `loss_steps`
    with power `loss_power`, with a spread of `loss_noise` over ranks; `loss_spikes` is the chance
    of a benign spike per step. `rate_schedule` "warm_up" (then constant), "cosine" or "steps", over
    `rate_steps`. `local_norms` reports the norm of each rank's own gradients too. `loss_scope`
    "both" reports a rank's own loss and the global one.

    Reports: `reported_by` "probe", or "log": a line of the framework, with the mean duration of the
    steps since the last one; one in `report_every` steps, by ranks `report_from` ("all", "first",
    "last"); the loss in one of `loss_every` reports.
    """

    name: str = "train-7b"
    hosts: tuple[int, ...] = ()
    slots: tuple[int, ...] = ()
    tp: int = 1
    pp: int = 1
    framework: str = "torch"
    step_seconds: float = 1.0
    data: float = 0.01
    compute: float = 0.74
    collective: float = 0.2
    optimizer: float = 0.05
    cpu_bound: float = 0.6
    noise: float = 0.015
    skew: float = 0.01
    hiccups: float = 0.001
    variable_length: float = 0.0
    tokens: int = 16384
    starts_after: float = 0.0
    init_seconds: float = 8.0
    compile_seconds: float = 6.0
    warm_up_steps: int = 3
    first_step: int = 0
    eval_every: int = 0
    eval_seconds: float = 20.0
    checkpoint_every: int = 0
    checkpoint_seconds: float = 8.0
    checkpoint_by: str = "all"
    step_holds_pauses: bool = False
    ends_after: float = 0.0
    restarts: tuple[float, ...] = ()
    restart_seconds: float = 30.0
    restarts_after_crash: bool = False
    collective_timeout: float = 1800.0
    start_timeout: float = 300.0
    teardown_seconds: float = 3.0
    spins: bool = True
    loss_scope: str = "local"
    guards_numerics: bool = False
    workers: int = 0
    exit_codes_known: bool = True
    buckets: int = 4
    stage_load: tuple[float, ...] = ()
    announces: bool = True
    eval_by: str = "all"
    loss_scale: float = 0.0
    loss_scale_fits: float = 1024.0
    stopped_by: str = "term"
    ep: int = 1
    moe: float = 0.4
    overlap: float = 0.0
    clips: bool = True
    micro_batches: int = 0
    attention: float = 0.2
    other: float = 0.004
    drift: float = 0.0
    drift_seconds: float = 600.0
    gc: float = 0.0
    gc_seconds: float = 0.03
    gc_reported: bool = True
    second_group: bool = False
    sizes: tuple[int, ...] = ()
    static: float = 0.35
    activations: float = 0.33
    inherited: float = 1.5 * 2.0**30
    host_memory_steady: float = 60.0
    loss_start: float = 10.3
    loss_floor: float = 1.8
    loss_steps: float = 40.0
    loss_power: float = 0.45
    loss_noise: float = 0.02
    loss_spikes: float = 0.0
    rate: float = 3e-4
    rate_schedule: str = "warm_up"
    rate_steps: int = 10_000
    local_norms: bool = False
    reported_by: str = "probe"
    report_every: int = 1
    report_from: str = "all"
    loss_every: int = 1


@dataclass(frozen=True, slots=True)
class SimulationScenario:
    """One recording: what runs for how long, and what goes wrong (`fault`: kind and settings).

    `also` is a second fault of the same time, as `fault` is.
    """

    name: str
    text: str
    seconds: float
    cluster: SimulatedCluster
    jobs: tuple[SimulatedJob, ...]
    reporting: ReportingHabits
    fault: Mapping[str, Any] | None = None
    also: Mapping[str, Any] | None = None
