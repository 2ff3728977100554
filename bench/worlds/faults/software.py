"""Faults of what the job itself runs: a function a fault, as faults.toml says."""

from ..effects import StepEffect
from ..situation import CaseSituation
from . import endings


def init_failed(case: CaseSituation) -> None:
    case.first_step_at = case.end + 1.0
    case.blame_job(onset=case.begin)
    if not case.weak:
        for rank in case.everybody:
            case.log(rank, case.begin + 1830.0, "clients_missing")


def collective_mismatch(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    endings.hang(case, (rank,), "transport", case.onset)
    case.log(rank, case.onset + (60.0 if case.weak else 5.0), "mismatch")


def uneven_batches(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    endings.hang(case, (rank,), "host", case.onset)
    phase = "shutdown" if not case.weak else "eval"
    case.say("training.phase", rank, case.onset + 0.5, {"rank": rank, "phase": phase, "step": 0})
    if not case.weak:
        pid = case.layout.ranks[rank].pid
        case.say("process.exit", rank, case.onset + 4.0, {"rank": rank, "pid": pid, "exit_code": 0})
        endings.silence(case, rank, case.onset + 4.0)


def deadlock(case: CaseSituation) -> None:
    case.blame_job()
    endings.hang(case, case.everybody, "transport", case.onset)


def stuck_process(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    endings.hang(case, (rank,), "host", case.onset)
    busy = 1.0 if case.rng.random() < 0.5 else 0.01
    case.edit("process.cpu.utilization", "set", busy, rank=rank, of={"role": "trainer"})
    if not case.weak:
        text = (
            "Thread 0x7f (most recent call first):\n"
            '  File "/app/train/loader.py", line 212 in acquire\n'
            '  File "/app/train/loop.py", line 88 in next_batch'
        )
        case.say(
            "process.stack",
            rank,
            case.onset + 40.0,
            {"rank": rank, "pid": case.layout.ranks[rank].pid, "text": text},
        )


def dataloader_slow(case: CaseSituation) -> None:
    rank = case.a_rank()
    everywhere = bool(case.rng.random() < 0.5) or len(case.layout.hosts) == 1
    ranks = case.everybody if everywhere else case.on_host_of(rank)
    if everywhere:
        case.blame_job()
    else:
        case.blame_host(case.layout.ranks[rank].host)
    lost = case.amount((0.3, 0.9), (0.1, 0.16)) * case.pace.step
    case.step_effects.append(
        StepEffect("data", ranks, case.onset, case.end, seconds=lost, spread=0.3)
    )
    for one in ranks:
        case.edit("process.cpu.utilization", "least", 0.97, rank=one, of={"role": "dataloader"})


def gc_pause(case: CaseSituation) -> None:
    case.blame_job()
    lost = case.amount((0.5, 1.2), (0.25, 0.4)) * case.pace.step
    case.step_effects.append(
        StepEffect(
            "gc",
            case.everybody,
            case.onset,
            case.end,
            seconds=lost,
            chance=0.4 if case.weak else 0.6,
            one_of=True,
            spread=0.3,
        )
    )


def checkpoint_stall(case: CaseSituation) -> None:
    case.blame_job()
    every = max(6, int(75.0 / case.pace.step))
    case.step_effects.append(
        StepEffect("checkpoint", case.everybody, case.begin, case.end, seconds=2.5, every=every)
    )
    long = case.amount((50.0, 110.0), (15.0, 28.0))
    case.step_effects.append(
        StepEffect(
            "checkpoint",
            case.everybody,
            case.onset,
            case.end,
            seconds=long,
            every=every,
            spread=0.2,
        )
    )


def regression(case: CaseSituation) -> None:
    case.blame_job(kind="code")
    rank = 0
    kind = str(case.rng.choice(["code", "image", "config"]))
    case.say(
        "change",
        rank,
        case.onset - 5.0,
        {"kind": kind, "text": "deployed 3f2a91c: fused attention replaced"},
    )
    case.slow(case.everybody, case.amount((1.2, 1.6), (1.07, 1.12)))


def recompile(case: CaseSituation) -> None:
    case.blame_job()
    seconds = case.amount((6.0, 20.0), (2.5, 4.0)) * case.pace.step
    case.step_effects.append(
        StepEffect(
            "compute",
            case.everybody,
            case.onset,
            case.end,
            seconds=seconds,
            chance=0.12,
            spread=0.3,
        )
    )
    if not case.weak:
        for rank in case.everybody:
            case.log(rank, case.onset + 60.0, "recompile_limit")


def crash(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    root = None if case.weak else "exception"
    endings.crash(case, rank, case.onset, root=root)
