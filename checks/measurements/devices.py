"""What driver and bus say of each device now: its limit, what holds its clocks, users, lanes.

Asked by `nvidia-smi`, which disturbs nobody, and of the bus by its own registers. Where heat or a
brake holds the clocks is asked several times: it comes and goes with the load.
"""

import contextlib
import re
import shutil
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ...vocabulary.device_faults import clock_reasons
from . import system_files
from .rows import CheckOrder, MeasuredRow

_ASK_SECONDS = 8.0
_PAUSE_SECONDS = 0.5
_THERMAL = ("thermal_sw", "thermal_hw")
_BRAKE = ("power_brake",)
"""Reasons that hold clocks down."""
_NONE = "there is no nvidia-smi here"

_BOUND = Path("proc/driver/nvidia/gpus")
_QUERY = ("--query-gpu=temperature.gpu", "--format=csv,noheader")
_POLL_SECONDS = 0.05

Command = Sequence[str]
Ask = Callable[[Sequence[str]], str]
"""Returns what nvidia-smi writes for these arguments; raises OSError, SubprocessError."""


def heat(order: CheckOrder, *, ask: Ask | None = None) -> list[MeasuredRow]:
    """Return of each device the share of its answers in which heat held its clocks down."""
    return _held(order, _THERMAL, ask)


def power(order: CheckOrder, *, ask: Ask | None = None) -> list[MeasuredRow]:
    """Return of each device its power limit in watts; one whose board brakes has failed."""
    ask = ask or _ask()
    if ask is None:
        return [MeasuredRow("", missing=_NONE)]
    braked = {row.device for row in _held(order, _BRAKE, ask) if max(row.samples, default=0.0) > 0}
    rows = _asked(ask, "uuid,enforced.power.limit,name")
    if isinstance(rows, str):
        return [MeasuredRow("", missing=rows)]
    found: list[MeasuredRow] = []
    for identity, limit, model in rows:
        if identity in braked:
            found.append(MeasuredRow(identity, failed="the power brake of its board is on"))
        elif (watts := _number(limit)) is None:
            found.append(MeasuredRow(identity, missing="its driver says no power limit"))
        else:
            found.append(MeasuredRow(identity, (watts,), f"{model}, limit"))
    return found


def answers(
    order: CheckOrder, *, command: Command = (), root: Path = Path("/")
) -> list[MeasuredRow]:
    """Return of each device how long its driver takes to answer for it; all are asked at once."""
    program = shutil.which("nvidia-smi")
    asked = command or ((program,) if program else ())
    addresses = [path.name for path in system_files.inside(root / _BOUND)]
    if not asked or not addresses:
        return [MeasuredRow("", missing=_NONE if addresses else "no driver holds a device here")]
    begun, end = time.monotonic(), time.monotonic() + order.seconds
    waiting = {address: _asking([*asked, "-i", address, *_QUERY]) for address in addresses}
    found: list[MeasuredRow] = []
    while waiting:
        late = time.monotonic() >= end
        for address, process in list(waiting.items()):
            if process.poll() is None and not late:
                continue
            del waiting[address]
            found.append(_answer(_named(root, address), process, time.monotonic() - begun))
        time.sleep(_POLL_SECONDS)
    return sorted(found, key=lambda row: row.device)


def _asking(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)


def _answer(device: str, process: "subprocess.Popen[bytes]", seconds: float) -> MeasuredRow:
    if process.poll() is None:
        # One that hangs in the kernel is not waited for: it ends with the check's process group.
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
        return MeasuredRow(device, failed=f"its driver has not answered within {seconds:.0f} s")
    if process.returncode:
        return MeasuredRow(device, failed=f"its driver answers with error {process.returncode}")
    return MeasuredRow(device, (seconds,))


def others(
    order: CheckOrder, *, ask: Ask | None = None, root: Path = Path("/")
) -> list[MeasuredRow]:
    """Return of each device how many processes use it that no rank of this node started."""
    ask = ask or _ask()
    if ask is None:
        return [MeasuredRow("", missing=_NONE)]
    if not order.ranks:
        return [MeasuredRow("", missing="no training process of this node can be seen")]
    devices, users = _asked(ask, "uuid"), _asked(ask, "gpu_uuid,pid", of="compute-apps")
    if isinstance(devices, str) or isinstance(users, str):
        return [MeasuredRow("", missing=str(devices if isinstance(devices, str) else users))]
    own = {pid for _, pid in order.ranks}
    strangers = Counter(
        identity
        for identity, pid in users
        # A number of another process namespace is nobody here: of it nothing is said.
        if pid.isdigit()
        and (root / "proc" / pid).exists()
        and own.isdisjoint(system_files.ancestry(root / "proc", int(pid)))
    )
    return [MeasuredRow(identity, (float(strangers[identity]),)) for (identity,) in devices]


def lanes(order: CheckOrder, *, root: Path = Path("/")) -> list[MeasuredRow]:
    """Return how many lanes each device lacks that its neighbours of one model have."""
    del order
    widths = {
        path.name: (model, _width(path / "current_link_width"), _width(path / "max_link_width"))
        for path in system_files.accelerators(root)
        if (model := system_files.text(path / "device"))
    }
    known = {name: row for name, row in widths.items() if row[1] and row[2]}
    if not known:
        return [MeasuredRow("", missing="no accelerator of this node says how many lanes it has")]
    found: list[MeasuredRow] = []
    for name, (model, width, most) in sorted(known.items()):
        # A slot may have fewer lanes than the device: then its neighbours have no more either.
        beside = [one[1] for other, one in known.items() if other != name and one[0] == model]
        expected = min(most, statistics.mode(beside) if beside else most)
        found.append(MeasuredRow(_named(root, name), (float(max(expected - width, 0)),)))
    return found


def _held(order: CheckOrder, named: Sequence[str], ask: Ask | None) -> list[MeasuredRow]:
    ask = ask or _ask()
    if ask is None:
        return [MeasuredRow("", missing=_NONE)]
    bits = sum(one.bit for one in clock_reasons() if one.reason in named)
    seen: dict[str, list[float]] = {}
    end = time.monotonic() + order.seconds
    while True:
        rows = _asked(ask, "uuid,clocks_event_reasons.active")
        if isinstance(rows, str):  # as drivers before R535 call it
            rows = _asked(ask, "uuid,clocks_throttle_reasons.active")
        if isinstance(rows, str):
            return [MeasuredRow("", missing=rows)]
        for identity, reasons in rows:
            if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", reasons):
                seen.setdefault(identity, []).append(float(bool(int(reasons, 16) & bits)))
        if time.monotonic() + _PAUSE_SECONDS >= end:
            break
        time.sleep(_PAUSE_SECONDS)
    return [
        MeasuredRow(identity, (statistics.mean(shares),))
        for identity, shares in sorted(seen.items())
    ] or [MeasuredRow("", missing="its driver does not say what holds the clocks down")]


def _ask() -> Ask | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    found = program

    def ask(arguments: Sequence[str]) -> str:
        done = subprocess.run(
            [found, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=True,
        )
        return done.stdout

    return ask


def _asked(ask: Ask, fields: str, *, of: str = "gpu") -> list[list[str]] | str:
    """Return a row a device or process with these fields, or why there is none."""
    try:
        text = ask([f"--query-{of}={fields}", "--format=csv,noheader,nounits"])
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi: {error}"[:200]
    width = fields.count(",") + 1
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    return [row for row in rows if len(row) == width and row[0].startswith("GPU-")]


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) else None


def _width(path: Path) -> int:
    text = system_files.text(path)
    return int(text) if text.isdigit() and int(text) < 64 else 0


def _named(root: Path, address: str) -> str:
    """Return a device's id as telemetry has it, its address on the bus where no driver holds it."""
    text = system_files.text(root / _BOUND / address / "information")
    found = re.search(r"GPU UUID:\s*(GPU-[0-9a-fA-F-]{36})", text)
    return found[1] if found else address
