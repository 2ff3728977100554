"""Where the ranks of this node spend their time: their main threads' stacks, again and again.

Each check counts the samples whose innermost calls are of one kind: saving, gathering, loading,
fetching batches, collecting garbage. Of saving and fetching it is a rank's own share: a loader that
keeps up is not waited for. Of gathering and loading it is what it has beyond the median of its
neighbours, for all of them join results and prepare data now and then. Of collecting it is the
share of all ranks together: each of them pauses seldom, and all wait for it.
A share of few samples is known badly, and looks within a second are alike: where two standard
errors reach over the check's limit nothing is said.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...formats.stacks import py_spy
from ...vocabulary.checks import runnable
from .rows import CheckOrder, MeasuredRow

INNERMOST = 12
"""Calls of a stack that are looked at: what is further out is the loop that all ranks are in."""
LOOKS_A_SECOND = 20
"""Reading a stack from outside takes under a millisecond and stops nothing."""
NATIVE_LOOKS_A_SECOND = 5
"""Frames of the interpreter are read of a process that is stopped for it."""
_AFTER_SECONDS = 8.0
"""Beyond its own time: py-spy reads the symbols of the process first."""
_FEWEST, _FEWEST_BLOCKS = 10, 5
_ERRORS = 2.0
_MISSING = "there is no py-spy beside this Python or in PATH: pip install 'rankscope[py-spy]'"

SAVING = re.compile(r"checkpoint|\bsave|serializ|safetensors|write_record", re.IGNORECASE)
GATHERING = re.compile(
    r"gather|concat|\bcat\b|\bstack\b|pickle|object_to_tensor|tolist|\bcpu\b", re.IGNORECASE
)
LOADING = re.compile(
    r"dataload|dataset|sampler|fetch|collate|tokeniz|preprocess|transform|decode|augment",
    re.IGNORECASE,
)
FETCHING = re.compile(
    r"_next_data|_get_data|_next_index|__next__ \(dataloader|next_batch|get_batch|prefetch",
    re.IGNORECASE,
)
COLLECTING = re.compile(r"^_?(?:PyGC_|gc_collect|collect_with_callback|collect_main)")
"""Functions of the interpreter that collect: no Python call is of them."""
_COLLECTS = b"gc_collect_main\0"

StackRecorder = Callable[[int, float], Sequence[Sequence[str]]]
"""Returns the calls of a process's main thread at each look within so many seconds, the innermost
first; raises OSError, SubprocessError, ValueError."""


def saving(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share of its samples in which it saves."""
    return measured(order, SAVING, beyond=False)


def gathering(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share in which it gathers, beyond that of its neighbours."""
    return measured(order, GATHERING, beyond=True)


def loading(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share in which it prepares data, beyond that of its neighbours."""
    return measured(order, LOADING, beyond=True)


def fetching(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share in which it waits for its loader, whatever others do."""
    return measured(order, FETCHING, beyond=False)


def collecting(
    order: CheckOrder,
    *,
    record: StackRecorder | None = None,
    root: Path = Path("/"),
) -> list[MeasuredRow]:
    """Return the share of all samples in which the interpreter collects garbage.

    Its own frames are read for that, which stops a rank for some milliseconds at each look.
    """
    for rank, pid in order.ranks:
        if not _has_names(root / "proc" / str(pid)):
            return [MeasuredRow("ranks", missing=f"the interpreter of rank {rank} has no symbols")]
    record = record or _recorder("--native", NATIVE_LOOKS_A_SECOND)
    seen, why = _watched(order, COLLECTING, record)
    samples = [one for found in seen.values() for one in found]
    if why or len(samples) < _FEWEST:
        return [MeasuredRow("ranks", missing=why or _too_few(samples))]
    share = statistics.mean(samples)
    margin = _ERRORS * math.sqrt(_variance(samples, NATIVE_LOOKS_A_SECOND))
    return [_beyond_doubt("ranks", share, margin, len(samples), _limit(order))]


def measured(
    order: CheckOrder,
    kind: re.Pattern[str],
    *,
    beyond: bool,
    record: StackRecorder | None = None,
) -> list[MeasuredRow]:
    """Return a row a rank, or one that says why there is none. `record` is py-spy's own."""
    record = record or _recorder("--nonblocking", LOOKS_A_SECOND)
    seen, why = _watched(order, kind, record)
    if not seen:
        return [MeasuredRow("", missing=why)]
    return [_row(rank, seen, why, limit=_limit(order), beyond=beyond) for rank in seen]


def _watched(
    order: CheckOrder, kind: re.Pattern[str], record: StackRecorder | None
) -> tuple[Mapping[int, Sequence[float]], str]:
    """Return of each rank in which samples it does what is looked for, and why some are missing."""
    if not order.ranks:
        return {}, "no training process of this node can be seen"
    if record is None:
        return {}, _MISSING
    seen: dict[int, list[float]] = {rank: [] for rank, _ in order.ranks}
    why = ""
    with ThreadPoolExecutor(len(order.ranks)) as looking:
        looks = {rank: looking.submit(record, pid, order.seconds) for rank, pid in order.ranks}
        for rank, look in looks.items():
            try:
                seen[rank] = [
                    float(any(kind.search(call) for call in calls[:INNERMOST]))
                    for calls in look.result()
                    if calls
                ]
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                why = f"py-spy: {error}"[:200]
    return seen, why


def _has_names(process: Path) -> bool:
    """Return whether the interpreter of a process has the names of its own functions."""
    try:
        lines = (process / "maps").read_text(errors="replace").splitlines()
        paths = {row[5] for line in lines if len(row := line.split(maxsplit=5)) == 6}
        return any(
            _COLLECTS in (process / "root" / path.lstrip("/")).read_bytes()
            for path in sorted(paths)
            if path.startswith("/") and "python" in Path(path).name and ".cpython-" not in path
        )
    except OSError:
        return False


def _limit(order: CheckOrder) -> float:
    return runnable()[order.check].limit or 0.0


def _row(
    rank: int, seen: Mapping[int, Sequence[float]], why: str, *, limit: float, beyond: bool
) -> MeasuredRow:
    name, samples = f"rank {rank}", seen[rank]
    shares = {one: statistics.mean(found) for one, found in seen.items() if len(found) >= _FEWEST}
    if rank not in shares:
        return MeasuredRow(name, missing=why or _too_few(samples))
    others = [share for other, share in shares.items() if other != rank]
    if beyond and not others:
        return MeasuredRow(name, missing="no other rank runs here to compare with")
    usual = statistics.median(others) if beyond else 0.0
    value, doubt = shares[rank] - usual, _variance(samples, LOOKS_A_SECOND)
    if beyond:
        doubt += _chance(usual, min(len(seen[one]) for one in shares if one != rank))
    return _beyond_doubt(name, value, _ERRORS * math.sqrt(doubt), len(samples), limit)


def _too_few(samples: Sequence[float]) -> str:
    return f"{len(samples)} stacks in all; {_FEWEST} are asked for"


def _beyond_doubt(name: str, value: float, margin: float, count: int, limit: float) -> MeasuredRow:
    if value - margin <= limit < value + margin:
        text = f"{value:.0%} of {count} stacks, give or take {margin:.0%}: too few to tell"
        return MeasuredRow(name, missing=text)
    return MeasuredRow(name, (value,))


def _variance(samples: Sequence[float], a_second: int) -> float:
    """Return the variance of the share of samples in the order of time, so many a second.

    Looks within a second may show one and the same call: then seconds are what was drawn.
    """
    drawn = _chance(statistics.mean(samples), len(samples))
    blocks = [
        statistics.mean(samples[first : first + a_second])
        for first in range(0, len(samples) - a_second + 1, a_second)
    ]
    if len(blocks) < _FEWEST_BLOCKS:
        return drawn
    return max(drawn, statistics.variance(blocks) / len(blocks))


def _chance(share: float, count: int) -> float:
    """Return the variance of a share of so many samples; of none or all of them it is not 0."""
    likely = (share * count + 1) / (count + 2)
    return likely * (1 - likely) / (count + 2)


def _recorder(how: str, a_second: int) -> StackRecorder | None:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("py-spy", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        return None
    program = found

    def record(pid: int, seconds: float) -> list[list[str]]:
        with tempfile.TemporaryFile() as file:
            done = subprocess.run(
                [
                    program, "record", "--pid", str(pid), how, "--idle", "--rate", str(a_second),
                    "--duration", str(max(int(seconds), 1)), "--format", "speedscope",
                    "--output", f"/proc/self/fd/{file.fileno()}",
                ],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds + _AFTER_SECONDS,
                pass_fds=(file.fileno(),),
                check=False,
            )  # fmt: skip
            if done.returncode:
                said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
                raise OSError(said or f"it ended with {done.returncode}")
            file.seek(0)
            return py_spy.recorded(file.read(), pid)

    return record
