"""How jobs end: ranks that exit and what their peers make of it, ranks that do not come."""

from .effects import EndMark, SeriesEdit, StopMark
from .situation import CaseSituation


def end(case: CaseSituation, mark: EndMark) -> None:
    """Let ranks leave, crash, or stand still until the watchdogs of their peers give up."""
    ranks, at = mark.ranks, mark.at
    others = [one for one in case.everybody if one not in ranks]
    if mark.how in ("leave", "crash"):
        for rank in ranks:
            _exit(case, rank, at, -mark.signal or mark.code, mark.signal)
            _silence(case, rank, at)
    if mark.how == "crash":
        # The others lose their connections, then the launcher ends them.
        gone = at + float(case.rng.uniform(8.0, 40.0))
        case.stop = StopMark(at, ranks, mark.how, gone)
        for other in others:
            if case.rng.random() < 0.5:
                case.say("peer_closed", other, at + float(case.rng.uniform(1.0, 6.0)))
            _exit(case, other, gone, -15, 15)
    elif mark.how != "leave":
        timeout = float(case.rng.choice([240.0, 600.0, 1800.0]))
        case.stop = StopMark(at, ranks, mark.how, at + timeout + 15.0)
        waiting = case.everybody if mark.how in ("order", "transport") else others
        for rank in () if mark.silent else waiting:
            limit = int(timeout * 1000)
            case.say("watchdog", rank, at + timeout + 1.0, limit=limit, ran=limit + 97)
            _exit(case, rank, at + timeout + 14.0, -6, 6)


def _exit(case: CaseSituation, rank: int, at: float, code: int, signal: int) -> None:
    case.say("exit_by_signal" if signal else "exit", rank, at, code=code, signal=signal)


def _silence(case: CaseSituation, rank: int, at: float) -> None:
    """Let a process that is gone report nothing, and hold no device memory."""
    host, gpu = case.layout.host_of(rank), case.layout.ranks[rank].gpu
    for metric in ("training.*", "collective.*", "process.*"):
        case.edits.append(SeriesEdit(metric, "drop", 0.0, at, host=host, match={"rank": rank}))
    held = "hw.gpu.process.memory"
    case.edits.append(SeriesEdit(held, "drop", 0.0, at, host=host, match={"hw.id": gpu}))
