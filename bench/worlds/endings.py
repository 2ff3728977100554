"""How jobs end: ranks that exit and what their peers make of it, ranks that do not come."""

from .effects import SeriesEdit, StopMark
from .situation import CaseSituation
from .tables import EndRow


def end(case: CaseSituation, row: EndRow, ranks: tuple[int, ...], at: float) -> None:
    """Let the ranks of a row end at a time, or come no more."""
    if row.how == "leave":
        for rank in ranks:
            _exit(case, rank, at, row.code, row.signal)
            _silence(case, rank, at)
    elif row.how == "crash":
        _crash(case, row, ranks, at)
    else:
        _hang(case, row, ranks, at)


def _hang(case: CaseSituation, row: EndRow, ranks: tuple[int, ...], at: float) -> None:
    """No step ends any more; the peers' watchdogs give up after their time-out, mostly later."""
    timeout = float(case.rng.choice([240.0, 600.0, 1800.0]))
    case.stop = StopMark(at, ranks, row.how, at + timeout + 15.0)
    ordered = row.how in ("order", "transport")
    for rank in () if row.silent else case.everybody:
        if rank not in ranks or ordered:
            limit = int(timeout * 1000)
            case.say("watchdog", rank, at + timeout + 1.0, limit=limit, ran=limit + 97)
            _exit(case, rank, at + timeout + 14.0, -6, 6)


def _crash(case: CaseSituation, row: EndRow, ranks: tuple[int, ...], at: float) -> None:
    """Some exit; their peers lose their connections, then the launcher ends them."""
    gone = at + float(case.rng.uniform(8.0, 40.0))
    case.stop = StopMark(at, ranks, "crash", gone)
    for rank in ranks:
        _exit(case, rank, at, -row.signal or row.code, row.signal)
        _silence(case, rank, at)
    for other in case.everybody:
        if other not in ranks:
            if case.rng.random() < 0.5:
                case.say("peer_closed", other, at + float(case.rng.uniform(1.0, 6.0)))
            _exit(case, other, gone, -15, 15)


def _exit(case: CaseSituation, rank: int, at: float, code: int, signal: int) -> None:
    case.say("exit_by_signal" if signal else "exit", rank, at, code=code, signal=signal)


def _silence(case: CaseSituation, rank: int, at: float) -> None:
    """Let a process that is gone report nothing, and hold no device memory."""
    host, gpu = case.layout.host_of(rank), case.layout.ranks[rank].gpu
    for metric in ("training.*", "collective.*", "process.*"):
        case.edits.append(SeriesEdit(metric, "drop", 0.0, at, host=host, match={"rank": rank}))
    held = "hw.gpu.process.memory"
    case.edits.append(SeriesEdit(held, "drop", 0.0, at, host=host, match={"hw.id": gpu}))
