"""Jobs in trouble of every kind, and the same jobs turned, scaled or cut down."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

import numpy as np

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import (
    GroupProgress,
    JobWindow,
    PeriodicReadings,
    ProcessReadings,
    StepValues,
)
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.samples import Event, TelemetryResource
from rankscope.vocabulary.topology import JobTopology, RankPlacement


def hardware(at, stopped):
    """Return readings (by rank, by host) in which something of each kind of hardware is wrong."""

    def levels(rows, usual, odd, which, since=0.0):
        value = np.full((rows, len(at)), float(usual))
        value[np.ix_(np.atleast_1d(which), at >= START + since)] = odd
        return readings(at, value)

    def counts(rows, usual, odd, which, since=0.0):
        rate = np.full((rows, len(at)), float(usual))
        rate[np.ix_(np.atleast_1d(which), at >= START + since)] = odd
        return readings(at, np.cumsum(rate, axis=1))

    power = levels(8, 500.0, 500.0, 0)
    busy = levels(8, 0.9, 0.9, 0)
    for held in (power, busy):
        held.at[6, at > stopped] = held.value[6, at > stopped] = np.nan
    differing = np.full((4, len(at)), np.nan)
    differing[3] = 1.0
    same = np.where(np.isnan(differing), 1.0, np.nan)
    by_rank = {
        "hw.power": power,
        "hw.power.limit": levels(8, 700.0, 500.0, 7),
        "hw.gpu.memory.limit": levels(8, 80 * 2.0**30, 80 * 2.0**30, 7),
        "hw.gpu.utilization": busy,
        "hw.gpu.throttle|thermal_hw": levels(8, 0, 1, 2, 40),
        "hw.errors|uncorrected|hbm": counts(8, 0, 1, 1, 50),
        "hw.gpu.row_remap|pending": levels(8, 0, 1, 4),
        "hw.gpu.nvlink.up|3": levels(8, 1, 0, 5, 40),
        "hw.gpu.pcie.width": levels(8, 16, 8, 6),
        "hw.gpu.pcie.width.max": levels(8, 16, 16, 6),
    }
    by_host = {
        "hw.network.up|mlx5_0|1": levels(4, 1, 0, [2, 3], 60),
        "hw.network.errors|mlx5_0|link_downed|1": counts(4, 0, 1, 2, 60),
        "hw.network.errors|mlx5_0|symbol_error|1": counts(4, 0, 50, 3, 40),
        "hw.network.congestion|mlx5_0|ecn|1": counts(4, 100, 2000, [0, 1, 2, 3], 50),
        "hw.network.io|mlx5_0|transmit|1": counts(4, 5e10, 0, 1),
        "system.network.io|eth0|transmit": counts(4, 1e6, 5e9, 1),
        "system.clock.offset": levels(4, 0, 2.5, 3),
        "system.filesystem.utilization|/scratch": levels(4, 0.5, 1.0, 0, 60),
        "system.pressure|some|io": levels(4, 0.01, 0.9, 1, 60),
        "system.software.info|nvidia|550": readings(at, differing),
        "system.software.info|nvidia|570": readings(at, same),
    }
    return by_rank, by_host


def laid_out(ranks) -> JobTopology:
    """Return eight ranks on four hosts behind two leaf switches, in some order of the rows."""
    hosts = [f"host-{number}" for number in range(4)]
    return JobTopology(
        Job("example"),
        hosts=hosts,
        placements=[
            RankPlacement(int(r), hosts[r // 2], pid=1000 + int(r), hw_id=f"GPU-{r}") for r in ranks
        ],
        switches={host: f"leaf-{number // 2}" for number, host in enumerate(hosts)},
    )


def unstarted() -> JobWindow:
    """Return the same job before any of its steps has ended."""
    window = troubled()
    return replace(window, steps=StepValues(window.steps.index[:0], window.steps.at[:, :0], {}))


def ended_from_outside() -> JobWindow:
    """Return a job whose ranks on host-1 were asked to end, and whose host-2 fell silent before."""
    ends = [Event("process.exit", START + 62, {"rank": rank, "signal": 15}) for rank in (2, 3)]
    ends += [Event("process.exit", START + 63, {"rank": 0, "exit_code": 1})]
    now = START + 90
    received = now - np.array([0.0, 0.0, 30.0, 0.0])
    own = np.full((8, 60), 0.8)
    return sketch(own, hosts=4, now=now, host_last_received=received, events=ends)


def ended_by_its_logs() -> JobWindow:
    """Return a job one of whose ranks logged an error, and the others that it was gone."""
    lines = [
        Event(
            "log.fault", START + 60.2, {"rank": 3, "role": "root"}, TelemetryResource("host-1", "a")
        )
    ]
    lines += [
        Event(
            "log.fault",
            START + 60.6,
            {"rank": rank, "role": "cascade"},
            TelemetryResource("host-0", "a"),
        )
        for rank in (0, 1, 5, 6, 7)
    ]
    return sketch(np.full((8, 60), 0.8), hosts=4, now=START + 70, events=lines)


def moved_clock() -> JobWindow:
    """Return a job on one of whose hosts the clock is moved ahead."""
    window = sketch(np.full((8, 80), 0.8), hosts=4)
    ends = window.steps.at.copy()
    ends[2:4, 40:] += 2.5
    return replace(window, steps=replace(window.steps, at=ends))


def never_started() -> JobWindow:
    """Return a job of eight ranks that ended by an error before its first step."""
    exit_ = Event(
        "process.exit", START + 90, {"rank": 3, "exit_code": 1}, TelemetryResource("host-1", "a")
    )
    own = np.zeros((8, 0))
    return sketch(own, hosts=4, now=START + 120, attempt_started_at=START, events=[exit_])


def troubled(*, stalled: float = 0.0) -> JobWindow:
    """Return a job of eight ranks on four hosts with something for every detector to say."""
    rng = np.random.default_rng(11)
    own = rng.normal(0.8, 0.005, (8, 80))
    own[3, 50:] *= 1.4
    own[2, 50:] *= 1.25  # its device is held down by heat
    own[:, [14, 23, 27, 41]] = 4.0  # compiled anew
    compute, data = own.copy(), np.full(own.shape, 0.01)
    data[1, 50:] = 0.32
    own[:2, 50:] += 0.32  # rank 0 does extra work, rank 1 waits for data
    collected, written = np.zeros(own.shape), np.full(own.shape, np.nan)
    collected[4, 10::3] = 0.4
    written[0, [12, 32, 52]], written[0, 72] = 0.2, 30.0
    loss = rng.normal(2.0, 0.1, own.shape)
    loss[5, 60] = loss[:, 61:] = np.inf
    exchange = np.where(np.arange(80) >= 50, 0.35, 0.2)
    bare = sketch(own, hosts=4, exchange=exchange)
    now = bare.now + stalled
    at = np.arange(START, now + 1, 5)
    wait = np.cumsum(np.full((8, len(at)), 0.05), axis=1)
    wait[2:4] += np.cumsum(np.where(at > bare.steps.at[0, 50], 3.0, 0.0))
    by_rank, by_host = hardware(at, bare.now)
    held = {"hw.gpu.process.memory": readings(at, np.full((1, 1), 2e10))}
    stranger = ProcessReadings(np.array([1]), np.array([77]), np.array([-1]), ("GPU-2",), held)
    clock = np.full((8, 1), 1.755e9)
    clock[3] = 1.1e9
    busy = np.full((8, 1), 0.9)
    busy[6] = 0.1
    counters = np.full(8, 80.0)
    counters[6] = 79.0

    def event(name: str, second: float, **pairs: object) -> Event:
        rank = pairs.get("rank", 0)
        host = f"host-{int(rank) // 2}"  # type: ignore[call-overload]
        return Event(name, START + second, pairs, TelemetryResource(host, "example"))  # type: ignore[arg-type]

    return sketch(
        own,
        hosts=4,
        exchange=exchange,
        placed=laid_out(range(8)),
        processes=stranger,
        planes={
            "training.compute.duration": compute,
            "training.data.duration": data,
            "training.gc.duration": collected,
            "training.checkpoint.duration": written,
            "training.loss|local": loss,
            "training.loss_scale": np.full(own.shape, 1024.0),
        },
        now=now,
        last_received=np.where(np.arange(8) == 6, now - 20, now),
        host_last_received=now - np.array([0.0, 0.0, 40.0, 0.0]),
        rank_readings={
            **by_rank,
            "process.cpu.wait": readings(at, wait),
            "process.cpu.utilization": readings(at, busy),
            "hw.frequency|sm": readings(at, clock),
            "training.progress.age": readings(at, np.zeros((8, 1))),
        },
        host_readings={**by_host, "system.cpu.utilization": readings(at, np.full((4, 1), 0.4))},
        groups=(
            GroupProgress("dp:1", "dp", np.arange(8), counters, np.full(8, 79.0),
                  np.full(8, now), np.full(8, bare.now)),
        ),
        events=(
            event("training.phase", 1, rank=0, phase="train"),
            event("change", 60, kind="config", text="more layers"),
            event("gpu.fault", 60, rank=3, code="79", text="fallen off the bus"),
            event("log.fault", 61, rank=1, role="root", signature="cuda_oom", text="out of memory"),
            event("log.fault", 61, rank=5, role="root", text="unable to open shared memory object"),
            event("host.oom_kill", 61, rank=1, pid=1001),
            event("process.exit", 62, rank=1, exit_code=1),
            event("log.fault", 63, rank=5, role="cascade", signature="task.hung", text="blocked"),
            event("log.fault", 64, rank=4, role="cascade", signature="nccl.bootstrap"),
            event("scheduler.event", 65, reason="Evicted", text="host-3 is low on memory"),
            *(
                event("process.stack", 110, rank=rank, text="sleep" if rank == 6 else "all_reduce")
                for rank in range(8)
            ),
        ),
    )  # fmt: skip


def read_only(window: JobWindow) -> JobWindow:
    """Return the window, into which nobody can write any more: tests share it."""
    for array in _arrays(vars(window)):
        array.setflags(write=False)
    return window


def _arrays(held: object) -> Iterator[np.ndarray]:
    """Yield the arrays of what a window holds."""
    if isinstance(held, np.ndarray):
        yield held
    elif isinstance(held, PeriodicReadings):
        yield from (held.at, held.value)
    elif isinstance(held, Mapping):
        for one in held.values():
            yield from _arrays(one)
    elif isinstance(held, StepValues | ProcessReadings | GroupProgress):
        for one in fields(held):
            yield from _arrays(getattr(held, one.name))
    elif isinstance(held, tuple):
        for one in held:
            yield from _arrays(one)


def turned(window: JobWindow, order: np.ndarray, placed: JobTopology | None) -> JobWindow:
    """Return the same job with its ranks' rows in another order; `placed` has that order."""
    place = np.argsort(order)
    steps, processes = window.steps, window.processes
    return replace(
        window,
        ranks=window.ranks[order],
        host_of=window.host_of[order],
        role_of=window.role_of[order],
        hw_ids=tuple(window.hw_ids[row] for row in order),
        pids=window.pids[order],
        last_received=window.last_received[order],
        steps=StepValues(
            steps.index, steps.at[order], {name: p[order] for name, p in steps.planes.items()}
        ),
        rank_readings={name: held.of(order) for name, held in window.rank_readings.items()},
        processes=replace(processes, row=np.where(processes.row < 0, -1, place[processes.row])),
        groups=tuple(replace(group, rows=place[group.rows]) for group in window.groups),
        placed=placed,
    )


def scaled(window: JobWindow, factor: float) -> JobWindow:
    """Return the same job with every duration longer by a factor, and as many readings a step."""
    planes = {
        name: plane * factor if name.endswith(".duration") else plane
        for name, plane in window.steps.planes.items()
    }
    at = START + (window.steps.at - START) * factor
    return replace(
        window,
        now=START + (window.now - START) * factor,
        steps=StepValues(window.steps.index, at, planes),
    )


def scraped_only() -> JobWindow:
    """Return a job of which devices are all that is reported; one works while the others wait."""
    at = np.arange(START, START + 1200, 15)
    busy = np.full((8, len(at)), 0.6)
    busy[np.arange(8) != 3, 40:] = 0.45
    held = {"hw.gpu.tensor.activity": readings(at, busy)}
    return sketch(np.zeros((8, 0)), hosts=4, now=START + 1200, rank_readings=held)
