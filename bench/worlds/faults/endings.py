"""How jobs end: a rank that exits and what its peers make of it, a rank that does not come."""

from ..effects import Scalar, StopMark, StuckKind
from ..situation import CaseSituation


def hang(case: CaseSituation, ranks: tuple[int, ...], kind: StuckKind, at: float) -> None:
    """No step ends any more; the peers' watchdogs give up after their time-out, mostly later."""
    timeout = float(case.rng.choice([240.0, 600.0, 1800.0]))
    case.stop = StopMark(at, ranks, kind, at + timeout + 15.0)
    for rank in case.everybody:
        if rank not in ranks:
            limit = int(timeout * 1000)
            case.log(rank, at + timeout + 1.0, "watchdog", limit=limit, ran=limit + 97)
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
    root: str | None = None,
    **fields: Scalar,
) -> None:
    """Let one rank exit; its peers lose their connections, then the launcher ends them."""
    gone = at + float(case.rng.uniform(8.0, 40.0))
    case.stop = StopMark(at, (rank,), "gone", gone)
    if root:
        case.log(rank, at - 0.4, root, **fields)
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
            case.log(other, later, "peer_closed")
        case.say(
            "process.exit",
            other,
            gone,
            {"rank": other, "pid": case.layout.ranks[other].pid, "exit_code": -15, "signal": 15},
        )


def leave(case: CaseSituation, rank: int, at: float) -> None:
    """Let one process end with an error, whatever its peers do."""
    pid = case.layout.ranks[rank].pid
    case.say("process.exit", rank, at, {"rank": rank, "pid": pid, "exit_code": 1})
    silence(case, rank, at)


def silence(case: CaseSituation, rank: int, at: float) -> None:
    """Let a process that is gone report nothing, and hold no device memory."""
    for metric in ("training.*", "collective.*", "process.*"):
        case.edit(metric, "drop", 0.0, rank=rank, begin=at)
    case.edit("hw.gpu.process.memory", "drop", 0.0, rank=rank, begin=at)
