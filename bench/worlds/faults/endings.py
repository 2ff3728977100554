"""How jobs end: a rank that exits and what its peers make of it, a rank that does not come."""

from ..effects import StopMark, StuckKind
from ..situation import CaseSituation


def hang(case: CaseSituation, ranks: tuple[int, ...], kind: StuckKind, at: float) -> None:
    """No step ends any more; the peers' watchdogs give up after their time-out, mostly later."""
    timeout = float(case.rng.choice([240.0, 600.0, 1800.0]))
    case.stop = StopMark(at, ranks, kind, at + timeout + 15.0)
    for rank in case.everybody:
        if rank not in ranks:
            text = (
                f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE,"
                f" Timeout(ms)={int(timeout * 1000)}) ran for {int(timeout * 1000) + 97} milliseconds"
            )
            case.log(rank, at + timeout + 1.0, "nccl.watchdog_timeout", "cascade", text)
            case.say(
                "process.exit",
                rank,
                at + timeout + 14.0,
                {"rank": rank, "pid": case.layout.ranks[rank].pid, "exit_code": -6, "signal": 6},
            )


def crash(
    case: CaseSituation,
    rank: int,
    at: float,
    *,
    code: int = 1,
    signal: int = 0,
    root: tuple[str, str] | None = None,
) -> None:
    """One rank exits; its peers' connections close within seconds, then the launcher ends them."""
    gone = at + float(case.rng.uniform(8.0, 40.0))
    case.stop = StopMark(at, (rank,), "gone", gone)
    if root:
        case.log(rank, at - 0.4, root[0], "root", root[1])
    signals = {"signal": signal} if signal else {}
    pid = case.layout.ranks[rank].pid
    case.say(
        "process.exit",
        rank,
        at,
        {"rank": rank, "pid": pid, "exit_code": -signal if signal else code, **signals},
    )
    silence(case, rank, at)
    for other in case.everybody:
        if other == rank:
            continue
        later = at + float(case.rng.uniform(1.0, 6.0))
        if case.rng.random() < 0.5:
            case.log(
                other,
                later,
                "nccl.remote_closed",
                "cascade",
                "NCCL WARN socketProgress: Connection closed by remote peer",
            )
        case.say(
            "process.exit",
            other,
            gone,
            {"rank": other, "pid": case.layout.ranks[other].pid, "exit_code": -15, "signal": 15},
        )


def silence(case: CaseSituation, rank: int, at: float) -> None:
    """A process that is gone reports nothing, and holds no device memory."""
    for metric in ("training.*", "collective.*", "process.*"):
        case.edit(metric, "drop", 0.0, rank=rank, begin=at)
    case.edit("hw.gpu.process.memory", "drop", 0.0, rank=rank, begin=at)
