"""Faults of hosts, their storage, clocks and settings: a function a fault, as faults.toml says."""

from ..effects import StepEffect
from ..situation import CaseSituation
from . import endings


def cpu_contention(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host, local = case.layout.host_of(rank), case.on_host_of(rank)
    case.edit("system.cpu.utilization", "least", 0.985 if not case.weak else 0.93, host=host)
    wait = case.amount((0.3, 0.8), (0.08, 0.15))
    for one in local:
        case.edit("process.cpu.wait", "rate", wait, rank=one)
    if case.rng.random() < 0.4:
        case.edit("container.cpu.throttled", "rate", wait * len(local), host=host)
    lost = case.amount((0.25, 0.7), (0.08, 0.14)) * case.pace.step
    case.step_effects.append(
        StepEffect("compute", local, case.onset, case.end, seconds=lost, spread=0.3)
    )
    case.step_effects.append(
        StepEffect("data", local, case.onset, case.end, seconds=0.15 * lost, spread=0.4)
    )


def driver_hang(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host = case.layout.host_of(rank)
    for metric in (
        "hw.gpu.*",
        "hw.power*",
        "hw.temperature*",
        "hw.frequency*",
        "hw.energy*",
        "hw.errors*",
        "hw.status*",
    ):
        case.edit(metric, "drop", 0.0, host=host)
    case.edit("system.processes.blocked", "add", 2.0 if case.weak else 9.0, host=host)
    if not case.weak:
        case.log(rank, case.onset + 122.0, "driver_hung")
    endings.hang(case, case.on_host_of(rank), "host", case.onset)


def lost(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host, local = case.layout.host_of(rank), case.on_host_of(rank)
    case.edit("*", "drop", 0.0, host=host)
    endings.hang(case, local, "gone", case.onset)
    case.events = [one for one in case.events if one.host != host or one.at < case.onset]
    if not case.weak:
        other = next(one for one in case.everybody if one not in local)
        case.log(other, case.onset + 31.0, "peer_closed")


def evicted(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    local = case.on_host_of(rank)
    name = case.layout.host_of(rank)
    reason, text = ("Preempted", f"Node {name}: pod preempted by a pod of higher priority")
    if case.weak:
        reason, text = ("Evicted", f"pod on {name} evicted: node drain")
    case.say("scheduler.event", rank, case.onset - 3.0, {"reason": reason, "text": text})
    endings.crash(case, rank, case.onset, signal=15)
    for one in local:
        if one != rank:
            case.events = [
                row for row in case.events
                if not (row.name == "process.exit" and row.attributes.get("rank") == one)
            ]  # fmt: skip
            case.say(
                "process.exit",
                one,
                case.onset + 0.2,
                {"rank": one, "pid": case.layout.ranks[one].pid, "exit_code": -15, "signal": 15},
            )
            endings.silence(case, one, case.onset + 0.2)


def storage_slow(case: CaseSituation) -> None:
    case.blame("storage", "/scratch", ranks=case.everybody)
    lost = case.amount((0.5, 1.5), (0.15, 0.3)) * case.pace.step
    case.step_effects.append(
        StepEffect("data", case.everybody, case.onset, case.end, seconds=lost, spread=0.4)
    )
    if case.pace.checkpoint_every:
        case.step_effects.append(
            StepEffect("checkpoint", case.everybody, case.onset, case.end, factor=4.0)
        )
    case.edit("system.processes.blocked", "add", case.amount((6.0, 20.0), (2.0, 4.0)))
    for host in case.layout.hosts:
        rank = int(case.layout.on_host(case.layout.hosts.index(host))[0])
        if not case.weak:
            case.log(rank, case.onset + 40.0, "nfs_silent")


def disk_full(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host = case.layout.host_of(rank)
    case.edit(
        "system.filesystem.utilization",
        "rate",
        0.37 / 200.0,
        host=host,
        begin=case.onset - 200.0,
        end=case.onset,
        of={"mountpoint": "/scratch"},
    )
    case.edit("system.filesystem.utilization", "most", 1.0, host=host, begin=case.begin)
    endings.crash(case, rank, case.onset, root=None if case.weak else "no_space")


def clock_skew(case: CaseSituation) -> None:
    rank = case.a_rank()
    index = case.layout.ranks[rank].host
    case.blame_host(index)
    case.clock_leaps[index] = (case.onset, case.amount((3.0, 25.0), (0.6, 1.6)))


def config_drift(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame(
        "host",
        case.layout.host_of(rank),
        host=case.layout.host_of(rank),
        ranks=case.on_host_of(rank),
        onset=case.begin,
    )
    case.versions[case.layout.ranks[rank].host] = ("driver", "550.54.15")
    case.slow(case.on_host_of(rank), case.amount((1.12, 1.25), (1.06, 1.1)), begin=0.0)
