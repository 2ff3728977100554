"""Where the ranks of this node spend their time: their main threads' stacks, a few times a second.

Each check counts the samples whose innermost calls are of one kind: saving, gathering, loading. Of
saving it is a rank's own share; of the others what it has beyond the median of its neighbours, for
all of them wait for data and for one another now and then. A share of few samples is known badly:
where two standard errors reach over the check's limit nothing is said.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...formats.stacks import py_spy
from ...vocabulary.checks import runnable
from .rows import CheckOrder, MeasuredRow

INNERMOST = 12
"""Calls of a stack that are looked at: what is further out is the loop that all ranks are in."""
_PAUSE_SECONDS = 0.2
_DUMP_SECONDS = 5.0
_FEWEST = 10
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

Dump = Callable[[int], str]
"""Returns the stacks of a process as py-spy writes them; raises OSError, SubprocessError."""


def saving(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share of its samples in which it saves."""
    return measured(order, SAVING, beyond=False)


def gathering(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share in which it gathers, beyond that of its neighbours."""
    return measured(order, GATHERING, beyond=True)


def loading(order: CheckOrder) -> list[MeasuredRow]:
    """Return of each rank the share in which it prepares data, beyond that of its neighbours."""
    return measured(order, LOADING, beyond=True)


def measured(
    order: CheckOrder,
    kind: re.Pattern[str],
    *,
    beyond: bool,
    dump: Dump | None = None,
    now: Callable[[], float] = time.monotonic,
) -> list[MeasuredRow]:
    """Return a row a rank, or one that says why there is none. `dump` is py-spy's own."""
    if not order.ranks:
        return [MeasuredRow("", missing="no training process of this node can be seen")]
    dump = dump or _dump()
    if dump is None:
        return [MeasuredRow("", missing=_MISSING)]
    seen: dict[int, list[float]] = {rank: [] for rank, _ in order.ranks}
    end, why = now() + order.seconds, ""
    while now() < end:
        for rank, pid in order.ranks:
            try:
                calls = py_spy.main_thread(dump(pid))
            except (OSError, subprocess.SubprocessError) as error:
                why = f"py-spy: {error}"[:200]
                continue
            if calls:
                seen[rank].append(float(any(kind.search(call) for call in calls[:INNERMOST])))
        time.sleep(_PAUSE_SECONDS)
    limit = runnable()[order.check].limit or 0.0
    return [_row(rank, seen, why, limit=limit, beyond=beyond) for rank in seen]


def _row(
    rank: int, seen: Mapping[int, Sequence[float]], why: str, *, limit: float, beyond: bool
) -> MeasuredRow:
    name, samples = f"rank {rank}", seen[rank]
    shares = {one: statistics.mean(found) for one, found in seen.items() if len(found) >= _FEWEST}
    if rank not in shares:
        few = f"{len(samples)} stacks in all; {_FEWEST} are asked for"
        return MeasuredRow(name, missing=why or few)
    others = [share for other, share in shares.items() if other != rank]
    if beyond and not others:
        return MeasuredRow(name, missing="no other rank runs here to compare with")
    usual = statistics.median(others) if beyond else 0.0
    value, doubt = shares[rank] - usual, _variance(shares[rank], len(samples))
    if beyond:
        doubt += _variance(usual, min(len(seen[one]) for one in shares if one != rank))
    margin = _ERRORS * math.sqrt(doubt)
    if value - margin <= limit < value + margin:
        text = f"{value:.0%} of {len(samples)} stacks, give or take {margin:.0%}: too few to tell"
        return MeasuredRow(name, missing=text)
    return MeasuredRow(name, (value,))


def _variance(share: float, count: int) -> float:
    """Return the variance of a share of so many samples; of none or all of them it is not 0."""
    likely = (share * count + 1) / (count + 2)
    return likely * (1 - likely) / (count + 2)


def _dump() -> Dump | None:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("py-spy", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        return None
    program = found

    def dump(pid: int) -> str:
        done = subprocess.run(
            [program, "dump", "--nonblocking", "--pid", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DUMP_SECONDS,
            check=True,
        )
        return done.stdout.decode(errors="replace")

    return dump
