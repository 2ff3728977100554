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
class Reporting:
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
    the agent may read the kernel's log.
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
class Cluster:
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
class Job:
    """One training job. Durations are shares of `step_seconds`, the healthy step.

    `hosts` and `slots` are the places it takes (empty: all). `tp` and `pp` split the model; the
    rest of the ranks is data-parallel. `cpu_bound` is the CPU time a rank needs to keep its device
    fed, as a share of the device's time (>= 1: the CPU is what limits; without devices it does).
    `noise` is the spread of a rank's own time from step to step, `skew` the lasting spread between
    devices. `hiccups` is the chance, per rank and step, of a stray delay (collector pauses,
    interrupts). `variable_length` is the spread of the tokens per rank and step. `spins` reports
    whether a rank that waits in a collective burns its CPU. `stage_load` are the loads of the
    pipeline stages against each other. `announces` tells whether evaluation, checkpoints and the
    end are announced as phases. `loss_scale` is where dynamic loss scaling starts (0: none), and
    `loss_scale_fits` the largest scale that does not overflow. A requeue ends it `stopped_by`
    "term" (SIGTERM), "term_kill" (SIGKILL for those who do not end) or "kill".
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


@dataclass(frozen=True, slots=True)
class Scenario:
    """One recording: what runs for how long, and what goes wrong (`fault`: kind and settings)."""

    name: str
    text: str
    seconds: float
    cluster: Cluster
    jobs: tuple[Job, ...]
    reporting: Reporting
    fault: Mapping[str, Any] | None = None
