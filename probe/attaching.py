"""Assembling the probe in one process, once, and removing it again."""

import atexit
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from ..vocabulary.identity import identify
from .agent_socket import AgentSocket
from .batch_reports import BatchReports
from .collectives import CollectiveCounts
from .crashes import CrashReports
from .dumps import StackDumps, refused
from .flight_recorder import RecorderReader
from .heartbeat import RankHeartbeat
from .importing import when_imported
from .pauses import CollectorPauses
from .placement import ProcessPlacement
from .profiling import ProfileRequests
from .sender import DatagramSender
from .silent import SilentWatch
from .timeline import StepTimeline
from .torch_hooks import TorchHooks
from .watch import Watch


def start_time(proc: Path = Path("/proc")) -> int | None:
    """Return seconds since the epoch, whole; None where there is no such /proc.

    The kernel counts clock ticks from the boot (field 22 of `self/stat`; the second field, the
    program's name, may itself hold spaces and brackets), and `stat` dates the boot.
    """
    try:
        fields = (proc / "self" / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        boot = next(
            int(line.split()[1])
            for line in (proc / "stat").read_text("utf-8").splitlines()
            if line.startswith("btime ")
        )
        return boot + int(fields[19]) // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None


_OFF = {"0", "off", "false", "no"}

_attached: tuple[int, Watch, TorchHooks] | None = None
"""Pid, watch and hooks of this process: a second attach gets the same, a fork starts anew."""


def attach(
    model: object = None,
    optimizer: object = None,
    job: str | None = None,
    attempt: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    *,
    local_rank: int | None = None,
    framework: str | None = None,
    dp: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Watch | SilentWatch:
    """Watch this process from now on, and return the watch.

    Every argument is optional. `model` and `optimizer` are the job's own; job, attempt and rank
    come from the launcher's environment variables where no argument gives them; `dp tp pp ep` are
    this rank's indices in the parallel layout. Never raises: where the probe cannot start, it
    prints why on stderr and returns a watch that does nothing.
    """
    global _attached  # noqa: PLW0603  one watch a process
    if environ.get("RANKSCOPE_PROBE", "").strip().lower() in _OFF:
        return SilentWatch()
    try:
        if _attached is not None and _attached[0] == os.getpid():
            _attached[2].use(model, optimizer)
            return _attached[1]
        placement = ProcessPlacement(
            identify(
                environ,
                job=job,
                attempt=attempt,
                rank=rank,
                local_rank=local_rank,
                world_size=world_size,
            ),
            {"framework": framework, "dp": dp, "tp": tp, "pp": pp, "ep": ep},
        )
        watch, hooks = _assemble(placement, environ)
        hooks.use(model, optimizer)
    except Exception as error:  # noqa: BLE001  the edge of the job: no telemetry rather than a failed job
        print(f"rankscope: probe disabled: {error}", file=sys.stderr)  # noqa: T201
        return SilentWatch()
    _attached = (os.getpid(), watch, hooks)
    return watch


def _assemble(placement: ProcessPlacement, environ: Mapping[str, str]) -> tuple[Watch, TorchHooks]:
    timeline = StepTimeline()
    collectives = CollectiveCounts(timeline, placement.identity)
    dumps = None if refused(environ) else StackDumps()
    heartbeat = RankHeartbeat(
        placement=placement,
        sources=(collectives, RecorderReader()),
        dumps=dumps,
        stacks=dumps is not None,
    )
    agent = AgentSocket(environ)
    sender = DatagramSender(
        agent=agent,
        identity=placement.identity,
        start_time=start_time(),
        heartbeat=heartbeat,
        reports=BatchReports(timeline.batches),
    )
    undo: list[Callable[[], object]] = []

    def detach() -> None:
        global _attached  # noqa: PLW0603  one watch a process
        _attached = None
        while undo:
            undo.pop()()

    watch = Watch(
        timeline=timeline,
        sender=sender,
        heartbeat=heartbeat,
        collectives=collectives,
        detach=detach,
    )
    heartbeat.phases = watch.phases
    profiling = ProfileRequests(
        agent=agent,
        identity=placement.identity,
        watch=watch,
        send=sender.put,
        environ=environ,
    )
    heartbeat.look = profiling.look
    hooks = TorchHooks(watch=watch, timeline=timeline, placement=placement)
    crashes = CrashReports(watch.emit, sender.flush)
    pauses = CollectorPauses(timeline)

    def shut_down() -> None:
        if not crashes.seen:
            watch.phase("shutdown")
        sender.close()

    def torch_imported(module: ModuleType) -> None:
        hooks.install(module)

    sender.start()
    if dumps is not None:
        undo.append(dumps.close)
    undo.append(shut_down)
    watch.phase("init")
    crashes.install()
    undo.append(crashes.remove)
    pauses.install()
    undo.append(pauses.remove)
    undo.append(hooks.remove)
    undo.append(profiling.close)
    undo.append(when_imported("torch", torch_imported))
    atexit.register(watch.detach)
    undo.append(lambda: atexit.unregister(watch.detach))
    return watch, hooks
