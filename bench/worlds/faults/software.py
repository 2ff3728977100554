"""Faults of what the job itself runs."""

from ..effects import StepEffect
from ..situation import CaseSituation
from . import endings


def init_failed(case: CaseSituation) -> None:
    """All processes live, and none ends a step."""
    case.first_step_at = case.end + 1.0
    case.blame_job(onset=case.begin)
    if not case.weak:
        for rank in case.everybody:
            text = (
                "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients."
            )
            case.log(rank, case.begin + 330.0, "tcpstore.clients_missing", "root", text)


def collective_mismatch(case: CaseSituation) -> None:
    """One rank is in another collective: all stop, it has launched as many as they."""
    rank = case.a_rank()
    case.blame_rank(rank)
    endings.hang(case, (rank,), "transport", case.onset)
    text = f"[Rank {rank}] Detected mismatch between collectives on ranks. Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=1042, OpType=BROADCAST)"
    case.log(rank, case.onset + (60.0 if case.weak else 5.0), "collective.mismatch", "root", text)


def uneven_batches(case: CaseSituation) -> None:
    """One rank leaves the loop for the next phase, its peers wait in the last step."""
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
    """Everybody waits in a started collective; nobody is behind."""
    case.blame_job()
    endings.hang(case, case.everybody, "transport", case.onset)


def stuck_process(case: CaseSituation) -> None:
    """A main thread stands still: the rank enqueues nothing more."""
    rank = case.a_rank()
    case.blame_rank(rank)
    endings.hang(case, (rank,), "host", case.onset)
    busy = 1.0 if case.rng.random() < 0.5 else 0.01
    case.edit("process.cpu.utilization", "set", busy, rank=rank, of={"role": "trainer"})
    if not case.weak:
        text = 'Thread 0x7f (most recent call first):\n  File "/app/train/loader.py", line 212 in acquire\n  File "/app/train/loop.py", line 88 in next_batch'
        case.say(
            "process.stack",
            rank,
            case.onset + 40.0,
            {"rank": rank, "pid": case.layout.ranks[rank].pid, "text": text},
        )


def dataloader_slow(case: CaseSituation) -> None:
    """Waits for data: on every rank, or on the ranks of one host."""
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
    """A collector stops one rank, each time another one."""
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
    """A save takes minutes; every rank is in it."""
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
    """A deployment: every rank computes longer from there on."""
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
    """New shapes: some steps take many times as long, on all ranks."""
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
            text = "torch._dynamo hit config.recompile_limit (8); function: 'forward'; last reason: tensor 'x' size mismatch at index 1"
            case.log(rank, case.onset + 60.0, "torch.recompile_limit", "root", text)


def crash(case: CaseSituation) -> None:
    """An exception in one rank."""
    rank = case.a_rank()
    case.blame_rank(rank)
    root = ("python.unhandled", "KeyError: 'input_ids' in collate_fn") if not case.weak else None
    endings.crash(case, rank, case.onset, root=root)
