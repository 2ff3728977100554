"""What the contract of contract.py promises of every detector in the list."""

import math
import pickle
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.detectors.catalogue import detectors
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import Group, JobWindow, Processes, Readings, Steps, no_processes
from rankscope.vocabulary import findings as vocabulary
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.samples import Event, Resource
from rankscope.vocabulary.topology import Placement, Topology

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
SEEDS = st.integers(0, 2**32 - 1)
DURATIONS = ("slow_collectives", "slow_steps", "stragglers", "data_wait", "extra_work")
"""Detectors that look at durations alone, whose unit must not matter to them."""


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


def laid_out(ranks) -> Topology:
    """Return eight ranks on four hosts behind two leaf switches, in some order of the rows."""
    hosts = [f"host-{number}" for number in range(4)]
    return Topology(
        Job("example"),
        hosts=hosts,
        placements=[
            Placement(int(r), hosts[r // 2], pid=1000 + int(r), hw_id=f"GPU-{r}") for r in ranks
        ],
        switches={host: f"leaf-{number // 2}" for number, host in enumerate(hosts)},
    )


def unstarted() -> JobWindow:
    """Return the same job before any of its steps has ended."""
    window = troubled()
    return replace(window, steps=Steps(window.steps.index[:0], window.steps.at[:, :0], {}))


def ended_from_outside() -> JobWindow:
    """Return a job whose ranks on host-1 were asked to end, and whose host-2 fell silent before."""
    ends = [Event("process.exit", START + 62, {"rank": rank, "signal": 15}) for rank in (2, 3)]
    ends += [Event("process.exit", START + 63, {"rank": 0, "exit_code": 1})]
    now = START + 90
    received = now - np.array([0.0, 0.0, 30.0, 0.0])
    own = np.full((8, 60), 0.8)
    return sketch(own, hosts=4, now=now, host_last_received=received, events=ends)


def moved_clock() -> JobWindow:
    """Return a job on one of whose hosts the clock is moved ahead."""
    window = sketch(np.full((8, 80), 0.8), hosts=4)
    ends = window.steps.at.copy()
    ends[2:4, 40:] += 2.5
    return replace(window, steps=replace(window.steps, at=ends))


def never_started() -> JobWindow:
    """Return a job of eight ranks that ended by an error before its first step."""
    exit_ = Event("process.exit", START + 90, {"rank": 3, "exit_code": 1}, Resource("host-1", "a"))
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
    stranger = Processes(np.array([1]), np.array([77]), np.array([-1]), ("GPU-2",), held)
    clock = np.full((8, 1), 1.755e9)
    clock[3] = 1.1e9
    busy = np.full((8, 1), 0.9)
    busy[6] = 0.1
    counters = np.full(8, 80.0)
    counters[6] = 79.0

    def event(name: str, second: float, **pairs: object) -> Event:
        rank = pairs.get("rank", 0)
        host = f"host-{int(rank) // 2}"  # type: ignore[call-overload]
        return Event(name, START + second, pairs, Resource(host, "example"))  # type: ignore[arg-type]

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
            Group("dp:1", "dp", np.arange(8), counters, np.full(8, 79.0),
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


def turned(window: JobWindow, order: np.ndarray) -> JobWindow:
    """Return the same job with its ranks' rows in another order."""
    place = np.argsort(order)

    def table(held: Readings) -> Readings:
        return Readings(held.at[order], held.value[order])

    return replace(
        window,
        ranks=window.ranks[order],
        host_of=window.host_of[order],
        role_of=window.role_of[order],
        hw_ids=tuple(window.hw_ids[row] for row in order),
        pids=window.pids[order],
        last_received=window.last_received[order],
        steps=Steps(
            window.steps.index,
            window.steps.at[order],
            {name: plane[order] for name, plane in window.steps.planes.items()},
        ),
        rank_readings={name: table(held) for name, held in window.rank_readings.items()},
        groups=tuple(replace(group, rows=place[group.rows]) for group in window.groups),
        placed=laid_out(window.ranks[order]),
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
        steps=Steps(window.steps.index, at, planes),
    )


def scraped_only() -> JobWindow:
    """Return a job of which devices are all that is reported; one works while the others wait."""
    at = np.arange(START, START + 1200, 15)
    busy = np.full((8, len(at)), 0.6)
    busy[np.arange(8) != 3, 40:] = 0.45
    held = {"hw.gpu.tensor.activity": readings(at, busy)}
    return sketch(np.zeros((8, 0)), hosts=4, now=START + 1200, rank_readings=held)


def accused(findings) -> set[tuple[str, str]]:
    return {(finding.kind, finding.entity.id) for finding in findings}


@EVERY
def test_something_is_found_in_a_troubled_job(detector, long_jobs, diverging):
    """The other tests of this file would prove nothing without it."""
    windows = (
        troubled(),
        troubled(stalled=40.0),
        unstarted(),
        moved_clock(),
        never_started(),
        ended_from_outside(),
        scraped_only(),
    )
    assert any(
        detector.evaluate(window) for window in (*windows, *long_jobs().values(), *diverging)
    )


@EVERY
def test_ranks_in_another_order_have_the_same_troubles_of_training(detector, diverging):
    for window in diverging:
        ranks = len(window.ranks)
        turned_round = turned(window, np.arange(ranks)[::-1])
        assert accused(detector.evaluate(window)) == accused(detector.evaluate(turned_round))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_the_same_window_gives_equal_findings(detector, stalled):
    window = troubled(stalled=stalled)
    assert list(detector.evaluate(window)) == list(detector.evaluate(window))
    assert list(detector.evaluate(window)) == list(
        type(detector)().evaluate(troubled(stalled=stalled))
    )


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_the_window_is_left_as_it_was(detector, stalled):
    window, before = troubled(stalled=stalled), troubled(stalled=stalled)
    for matrix in (window.steps.at, *window.steps.planes.values()):
        matrix.setflags(write=False)
    detector.evaluate(replace(window, rank_readings=MappingProxyType(dict(window.rank_readings))))
    # A topology is immutable and does not write itself out.
    assert str(replace(before, placed=None)) == str(replace(window, placed=None))


@EVERY
@given(order=st.permutations(range(8)), stalled=st.sampled_from([0.0, 40.0]))
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_ranks_rows_changes_only_the_order_of_findings(detector, order, stalled):
    window = troubled(stalled=stalled)
    turned_round = turned(window, np.array(order))

    def valid(findings):
        return sorted(
            (f.kind, f.entity.id, f.onset, round(f.magnitude, 9), round(f.score, 9), f.text)
            for f in findings
        )

    assert valid(detector.evaluate(window)) == valid(detector.evaluate(turned_round))


@pytest.mark.parametrize(
    "detector", [d for d in detectors() if d.name in DURATIONS], ids=lambda detector: detector.name
)
@given(factor=st.floats(0.5, 60.0))
@settings(max_examples=25, deadline=None)
def test_a_constant_factor_on_every_duration_accuses_the_same(detector, factor):
    assert accused(detector.evaluate(troubled())) == accused(
        detector.evaluate(scaled(troubled(), factor))
    )


@EVERY
@pytest.mark.parametrize("ranks", [0, 1, 2])
@pytest.mark.parametrize("steps", [0, 1, 2, 60])
def test_small_and_empty_jobs_are_judged_without_complaint(detector, ranks, steps):
    hosts = min(ranks, 2)
    for now in (None, START + 200):
        window = sketch(np.full((ranks, steps), 0.8), hosts=hosts, now=now)
        assert set() == accused(detector.evaluate(window)) - {("job.stalled", "example")}
    valid = {"training.progress.age": readings(START + np.arange(0, 201.0), np.zeros((ranks, 1)))}
    detector.evaluate(
        sketch(np.full((ranks, steps), 0.8), hosts=hosts, now=now, rank_readings=valid)
    )


@EVERY
def test_matrices_without_a_single_value_are_no_finding(detector):
    window = troubled()
    nothing = np.full(window.steps.at.shape, np.nan)
    empty = replace(
        window,
        steps=Steps(window.steps.index, nothing, dict.fromkeys(window.steps.planes, nothing)),
        rank_readings={
            name: Readings(held.at * np.nan, held.value * np.nan)
            for name, held in window.rank_readings.items()
        },
        host_readings={
            name: Readings(held.at * np.nan, held.value * np.nan)
            for name, held in window.host_readings.items()
        },
        groups=(),
        events=(),
        processes=no_processes(),
        last_received=np.full(8, -np.inf),
        host_last_received=np.full(4, -np.inf),
        host_interval=np.full(4, np.nan),
    )
    assert [] == list(detector.evaluate(empty))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_any_metric_may_be_missing(detector, stalled):
    """What a detector finds without a metric is still sound, and accuses nobody new by itself."""
    window = troubled(stalled=stalled)
    steps, by_rank = window.steps, window.rank_readings
    poorer = [
        *(replace(window, steps=replace(steps, planes=without(steps.planes, name)))
          for name in steps.planes),
        *(replace(window, rank_readings=without(by_rank, name)) for name in by_rank),
        replace(window, host_readings={}),
        replace(window, groups=()),
        replace(window, events=()),
        replace(window, hw_ids=(None,) * 8, pids=np.full(8, -1)),
        replace(window, hosts=(), host_of=np.full(8, -1), host_readings={},
                host_last_received=np.zeros(0), host_interval=np.zeros(0)),
    ]  # fmt: skip
    for without_it in poorer:
        sound(detector, detector.evaluate(without_it))
        assert detector.next_due(without_it) > without_it.now
    bare = replace(
        window, steps=replace(steps, planes={}), rank_readings={}, host_readings={}, groups=(),
        events=(), processes=no_processes(),
        last_received=np.full(8, window.now), host_last_received=np.full(4, window.now),
    )  # fmt: skip
    assert {"job.slow"} >= {finding.kind for finding in detector.evaluate(bare)}


def without(held, name):
    """Return a mapping less one name."""
    return {other: value for other, value in held.items() if other != name}


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_time_alone_matters_later_than_now(detector, stalled):
    window = troubled(stalled=stalled)
    assert detector.next_due(window) > window.now
    assert detector.cadence_seconds >= 0


@EVERY
def test_what_time_alone_changes_is_announced(detector):
    """Between now and the announced second nothing changes while nothing arrives."""
    window = troubled()
    due = min(detector.next_due(window), window.now + 60)
    accused_now = accused(detector.evaluate(window))
    for second in np.arange(window.now, due, 1.0):
        assert accused_now == accused(detector.evaluate(replace(window, now=second)))


@EVERY
def test_a_detector_and_its_findings_survive_pickling(detector):
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    window = troubled(stalled=40.0)
    assert list(detector.evaluate(window)) == list(again.evaluate(window))
    assert vars(detector) == vars(again)


@EVERY
@given(seed=SEEDS, stalled=st.sampled_from([0.0, 40.0]))
@settings(max_examples=20, deadline=None)
def test_any_metric_may_vanish_midway_on_any_rank(detector, seed, stalled):
    rng = np.random.default_rng(seed)
    window = troubled(stalled=stalled)
    for matrix in (window.steps.at[1:], *window.steps.planes.values()):  # a step ends somewhere
        matrix[rng.random(len(matrix)) < 0.5, rng.integers(0, 81) :] = np.nan
    for plane in window.steps.planes.values():
        plane[np.isnan(window.steps.at)] = np.nan  # and a value only where one ended
    for held in window.rank_readings.values():
        rows, first = rng.random(8) < 0.5, rng.integers(0, held.at.shape[1] + 1)
        held.at[rows, first:] = held.value[rows, first:] = np.nan
    sound(detector, detector.evaluate(window))


@EVERY
@given(seed=SEEDS)
@example(seed=13868)
@settings(max_examples=40, deadline=None)
def test_absurd_values_are_judged_without_complaint(detector, seed):
    rng = np.random.default_rng(seed)
    odd = [0.0, 1e-9, 0.5, 1.0, 1e9, 1e300, np.nan, np.inf, -1.0]
    usual = np.full(len(odd), 0.05)
    usual[3] = 0.6

    def matrix():
        return rng.choice(odd, (3, 14), p=usual)

    steps = ("training.step.duration", "training.compute.duration", "training.comm.duration",
             "training.data.duration", "training.tokens", "training.loss_scale",
             "training.grad_norm")  # fmt: skip
    sensors = ("process.cpu.wait", "hw.frequency|sm", "hw.gpu.throttle|thermal_hw",
               "hw.gpu.utilization", "training.progress.age",
               *hardware(START + np.zeros(1), 0)[0])  # fmt: skip
    at = START + 46 + np.arange(14.0)
    window = sketch(
        np.ones((3, 14)),
        now=START + 60,
        planes={name: matrix() for name in steps},
        rank_readings={name: readings(at, matrix()) for name in sensors},
        host_readings={
            name: readings(at, matrix()[:2])
            for name in ("system.cpu.utilization", *hardware(START + np.zeros(1), 0)[1])
        },
    )
    sound(detector, detector.evaluate(window))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_findings_follow_the_vocabulary(detector, stalled):
    sound(detector, detector.evaluate(troubled(stalled=stalled)))


def test_names_are_unique_and_kinds_are_in_the_vocabulary():
    names = [detector.name for detector in detectors()]
    assert sorted(set(names)) == sorted(names)
    for detector in detectors():
        assert set(detector.kinds) <= set(vocabulary.catalogue())


def test_every_kind_of_the_vocabulary_has_a_detector():
    assert set(vocabulary.catalogue()) == {kind for d in detectors() for kind in d.kinds}


def sound(detector, findings):
    """Hold every finding to the form that the other packages count on."""
    for finding in findings:
        assert finding.kind in detector.kinds
        assert finding.entity.type in vocabulary.catalogue()[finding.kind].entities
        assert ("example", 0, detector.name) == (finding.job, finding.attempt, finding.detector)
        assert finding.onset[0] <= finding.onset[1]
        assert all(math.isfinite(at) for at in (*finding.onset, *finding.window))
        assert math.isfinite(finding.score), finding
        assert finding.score >= 0
        assert math.isfinite(finding.magnitude), finding
        assert finding.signal.partition("|")[0] in _signals()
        assert finding.text.strip() == finding.text != ""


def _signals() -> set[str]:
    return {signal for kind in vocabulary.catalogue().values() for signal in kind.signals}
