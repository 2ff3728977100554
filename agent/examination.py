"""What this node could report, what it does report, and why not: every reader tried for real.

The readers run as in the agent, but nothing is kept, pushed or claimed, so that a running agent is
not disturbed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..vocabulary.samples import Event
from . import kernel_files
from .readers import NodeReader, ReaderContext, catalogue, everything
from .readers.gpu_bus import on_the_bus
from .settings import AgentSettings

State = Literal["yes", "part", "waits", "absent", "profile", "no"]
"""Reports all it could; some of it; nothing yet (it needs something to happen or somebody to run);
the hardware is not here; it needs the full profile; or a problem."""

_NOT_GIVEN = "this kernel, driver or device does not give it"
_IDLE = "works; no training process, fault or change to report at this moment"
_SETTLE_SECONDS = 2.5
"""Between two readings: rates need two, and a device's first answers take a moment."""


@dataclass(frozen=True, slots=True)
class ExaminedReader:
    """One reader's result. `reported` holds series by metric; `missing` metrics and why."""

    reader: str
    state: State
    reason: str
    profile: str
    fix: str
    reported: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeExamination:
    """All rows, and the faults that readers reported meanwhile."""

    profile: catalogue.Profile
    rows: Sequence[ExaminedReader]
    events: Sequence[Event]

    @property
    def problems(self) -> list[ExaminedReader]:
        """Return the rows that something should be done about."""
        return [row for row in self.rows if row.state == "no"]


def examine(
    settings: AgentSettings,
    *,
    profile: catalogue.Profile | None = None,
    around: ReaderContext | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> NodeExamination:
    """Try every reader twice. `profile` None: full where the kernel log may be read."""
    events: list[Event] = []
    # Often enough for what needs several turns, such as GPM's activity.
    hurried = settings.readers.model_copy(update={"period_seconds": 1.0})
    settings = settings.model_copy(update={"readers": hurried})
    around = around or ReaderContext(
        settings=settings,
        emit=events.append,
        proc=settings.node.proc,
        sys=settings.node.sys,
        dev=settings.node.dev,
    )
    chosen: catalogue.Profile = "full" if _readable(around.dev / "kmsg") else "restricted"
    chosen = profile or chosen
    with around.closing:
        trials = [_ReaderTrial(reader) for reader in everything(around)]
        for turn in range(2):
            for trial in trials:
                trial.turn(time.time())
            if turn == 0:
                pause(_SETTLE_SECONDS)
        rows = [trial.row(around, chosen, settings.readers.off) for trial in trials]
    return NodeExamination(chosen, rows, events)


class _ReaderTrial:
    def __init__(self, reader: NodeReader) -> None:
        self._reader = reader
        self._supported = False
        self._reason = ""
        self._failed = ""
        self._series: dict[str, set[object]] = {}

    def turn(self, now: float) -> None:
        """Ask and read once; what it raises is its result."""
        try:
            if not self._supported:
                self._supported, self._reason = self._reader.supported()
            if self._supported:
                for sample in self._reader.read(now):
                    self._series.setdefault(sample.metric, set()).add(sample.attributes)
            self._failed = ""
        except Exception as error:  # noqa: BLE001  a reader's failure is what we are here to tell
            self._failed = f"{type(error).__name__}: {error}"

    def row(self, around: ReaderContext, profile: str, off: Sequence[str]) -> ExaminedReader:
        """Return the result."""
        entry = catalogue.entries()[self._reader.name]
        reported = {metric: len(series) for metric, series in self._series.items()}
        lacking = [metric for metric in entry.metrics if metric not in reported]
        why = self._explained(entry)
        state: State
        reason = self._failed or self._reason
        if entry.name in off:
            state, reason = "absent", "switched off by readers.off"
        elif self._failed:
            state = "no"
        elif self._supported:
            state = "yes" if not lacking else "part" if reported else "waits"
            if state == "waits":
                state, reason = ("absent", why) if why else ("waits", reason or _IDLE)
        elif entry.hardware and not present(entry.hardware, around):
            state = "absent"
        elif entry.profile == "full" and profile == "restricted":
            state = "profile"
        else:
            state = "no"
        return ExaminedReader(
            reader=entry.name,
            state=state,
            reason=reason,
            profile=entry.profile,
            fix=entry.fix if state in ("no", "profile") else "",
            reported=reported,
            missing=dict.fromkeys(lacking, why or _NOT_GIVEN) if self._supported else {},
        )

    def _explained(self, entry: catalogue.ReaderEntry) -> str:
        """Return the reader's own reason why something is missing, else nothing."""
        notes = getattr(self._reader, "notes", None)
        if notes is None:
            return ""
        reasons: Mapping[str, str] = notes()
        named = [f"{name}: {why}" for name, why in sorted(reasons.items()) if name in entry.source]
        return "; ".join(named)


def present(hardware: str, around: ReaderContext) -> bool:
    """Return whether a kind of hardware can be seen on this node, by whatever road."""
    if hardware == "nvidia":
        if (around.dev / "nvidiactl").exists() or (around.proc / "driver/nvidia").exists():
            return True
        return bool(on_the_bus(around.sys / "bus/pci/devices"))
    if hardware == "disk":
        return bool(kernel_files.names(str(around.sys / "block")))
    if hardware == "network":
        return bool(kernel_files.names(str(around.sys / "class/infiniband")))
    if hardware == "exporter":
        return bool(around.settings.exporters.targets)
    if hardware == "kubelet":
        return Path("/var/lib/kubelet").exists()
    return False


def _readable(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False
