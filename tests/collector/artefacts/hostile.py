"""Hostile and torn files, drawn by a seed: what a dead disk, a wrong tool or a stranger leaves."""

import gzip
import io
import json
import pickle
import random
import tarfile
import zipfile
from collections.abc import Callable

LINES = (
    b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
    b" [2026-05-13 12:00:10] iteration  1/ 500 | elapsed time per iteration (ms): 1.0 | lm loss: 1 |\n",  # noqa: E501
    b"2026-05-13T12:00:06+00:00 n1 kernel: NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off\n",
    (
        b"[rank0]:[E513 12:00:00.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective "
        b"operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1) ran for 600000 ms\n"
    ),
    (
        b"n1:4711:4802 [3] NCCL INFO comm 0x55 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 "
        b"commId 0x11 - Init COMPLETE\n"
    ),
    b"{'loss': 1.2, 'grad_norm': nan, 'learning_rate': 1e-4, 'epoch': 0.1}\n",
    b"Fatal Python error: Segmentation fault\n",
    b"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
)
DUMP = {
    "version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
    "pg_status": {"0": {"last_enqueued_collective": 3, "last_completed_collective": 2}},
    "entries": [{"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 3,
                 "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "state": "scheduled",
                 "input_sizes": [[1]], "output_sizes": [[1]], "timeout_ms": 1, "op_id": 3,
                 "input_dtypes": ["Float"], "output_dtypes": ["Float"], "record_id": 3,
                 "p2p_seq_id": 0, "is_p2p": False, "retired": False}],
}  # fmt: skip
RAS = b"NCCL version 2.27.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12090\n\nJob summary\n===========\n"  # noqa: E501
NAMES = (
    "rank_{}.log", "rank_{}.pkl", "{}/stderr.log", "fr_{}", "nccl_trace_rank_{}.json",
    "dmesg_{}.txt", "ras_{}.txt", "job.{}", "left-{}.tar.gz", "left_{}.zip", "x{}.gz", "{}",
    "rank_99999999{}.log", "rank_{}.log.xz", "kern.log.{}", "ra\u202enk_{}.log", "events-{}.jsonl",
)  # fmt: skip


def _log(drawn: random.Random) -> bytes:
    return b"".join(drawn.choice(LINES) for _ in range(drawn.randrange(1, 60)))


def _mutated(drawn: random.Random, data: bytes) -> bytes:
    held = bytearray(data)
    for _ in range(drawn.randrange(1, 20)):
        place = drawn.randrange(len(held))
        held[place : place + drawn.randrange(4)] = drawn.randbytes(drawn.randrange(4))
    return bytes(held)


def _torn(drawn: random.Random, data: bytes) -> bytes:
    return data[: drawn.randrange(len(data) + 1)]


def _zip(drawn: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(drawn.randrange(1, 5)):
            archive.writestr(f"rank_{number}.log", _log(drawn))
    return out.getvalue()


def _tar(drawn: random.Random) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for number in range(drawn.randrange(1, 5)):
            member = tarfile.TarInfo(drawn.choice(["", "../", "/"]) + f"rank_{number}.log")
            data = _log(drawn)
            member.size, member.mtime = len(data), drawn.choice([0, -1, 1 << 40, 1_700_000_000])
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _dates(drawn: random.Random) -> bytes:
    year, month = drawn.choice(["0000", "9999", "2026"]), drawn.choice(["00", "13", "02"])
    at = f"{year}-{month}-31 25:61:61"
    return (
        b"".join(
            at.encode() + b" " + line + f"[{year}-{month}-30T99:00:00.{'9' * 30}Z] ".encode() + line
            for line in LINES
        )
        + b"[99999999999.999999] NVRM: Xid (PCI:0000:18:00): 79\n" * 3
    )


def _ranks(drawn: random.Random) -> bytes:
    rank = drawn.randrange(10**9, 10**10)
    return b"".join(line.replace(b"ank3", f"ank{rank}".encode()) for line in LINES) + (
        f"[rank{rank}]: {'9' * 5000}\n[Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={'9' * 40}, OpType=ALLREDUCE)\nrank {rank} nranks {rank}\n".encode()
    )


def _deep(drawn: random.Random) -> bytes:
    opening = drawn.choice(['{"pg_config":', "[", '{"a":', '{"coll_perf":', "{'loss': "])
    return (opening * drawn.choice([100, 5000, 100_000])).encode()


def _dump(drawn: random.Random) -> bytes:
    held = json.loads(json.dumps(DUMP))
    held["entries"] = held["entries"] * drawn.randrange(4)
    for _ in range(drawn.randrange(4)):
        holder = drawn.choice([held, held["pg_config"]["0"], *held["entries"]])
        holder[drawn.choice(list(holder))] = drawn.choice([None, -1, 1 << 70, "x", [], {}, 1e308])
        held = {"pg_config": {"0": {}}, **held} if isinstance(held.get("pg_config"), dict) else held
        if not isinstance(held.get("pg_config"), dict) or not isinstance(held.get("entries"), list):
            break
        held["pg_config"].setdefault("0", {"ranks": "[0]"})
        if not isinstance(held["pg_config"]["0"], dict):
            break
    return drawn.choice([json.dumps(held).encode(), pickle.dumps(held)])


KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    lambda drawn: drawn.randbytes(drawn.randrange(1, 20_000)),
    lambda drawn: _mutated(drawn, _log(drawn)),
    lambda drawn: _torn(drawn, gzip.compress(_log(drawn))),
    lambda drawn: _mutated(drawn, gzip.compress(_log(drawn))),
    lambda drawn: _torn(drawn, _zip(drawn)),
    lambda drawn: _mutated(drawn, _zip(drawn)),
    lambda drawn: _torn(drawn, _tar(drawn)),
    lambda drawn: _mutated(drawn, gzip.compress(gzip.decompress(_tar(drawn)))),
    _tar,
    lambda drawn: _torn(drawn, pickle.dumps(DUMP)),
    lambda drawn: _mutated(drawn, pickle.dumps(DUMP)),
    lambda drawn: _torn(drawn, json.dumps(DUMP).encode()),
    _dump,
    _deep,
    lambda drawn: drawn.choice(LINES).rstrip() * drawn.randrange(1000, 20_000),
    lambda drawn: bytes(drawn.randrange(100, 100_000)) + _log(drawn),
    lambda drawn: _log(drawn).decode().encode(drawn.choice(["utf-16", "utf-16-le", "utf-32"])),
    lambda drawn: b"".join(b"%d\n" % drawn.randrange(10**12) for _ in range(3000)),
    lambda drawn: str(drawn.randrange(10**12)).encode() * 20_000,
    lambda _: b"",
    _dates,
    _ranks,
    lambda drawn: RAS + _mutated(drawn, _log(drawn)),
    lambda drawn: b"\r".join(_log(drawn).splitlines()) * 20,
    lambda drawn: b"\x1b]0;title" + b"\x1b[31m" * drawn.randrange(5000) + _log(drawn),
)


def files(seed: int, count: int) -> dict[str, bytes]:
    """Return so many files by name, each kind in turn under a name drawn at random."""
    drawn = random.Random(seed)
    held: dict[str, bytes] = {}
    while len(held) < count:
        name = drawn.choice(NAMES).format(drawn.randrange(1000))
        held[name] = KINDS[len(held) % len(KINDS)](drawn)
    return held
