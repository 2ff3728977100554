"""Putting the probe together in one process, once, and taking it away again."""

import atexit
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType

from .collectives import Collectives
from .crashes import Crashes
from .flight import Flight
from .identity import identify
from .importing import when_imported
from .line import Line
from .pauses import Pauses
from .places import Places
from .pulse import Pulse
from .sender import Sender
from .silent import SilentWatch
from .timeline import Timeline
from .torch_guest import TorchGuest
from .watch import Watch

_OFF = {"0", "off", "false", "no"}

_here: tuple[int, Watch, TorchGuest] | None = None
"""The pid, watch and guest of this process: a second attach gets the same, a fork starts anew."""


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

    Every argument is optional. `model` and `optimizer` are the job's own; who the process is
    comes from the launcher's environment variables where it is not said; `dp tp pp ep` are this
    rank's indices in the parallel layout. Never raises: where the probe cannot live, the watch
    that comes back does nothing.
    """
    global _here  # noqa: PLW0603  one watch a process
    if environ.get("RANKSCOPE_PROBE", "").strip().lower() in _OFF:
        return SilentWatch()
    try:
        if _here is not None and _here[0] == os.getpid():
            _here[2].meet(model, optimizer)
            return _here[1]
        places = Places(
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
        watch, guest = _assemble(places, environ)
        guest.meet(model, optimizer)
    except Exception as error:  # noqa: BLE001  the edge of the job: better blind than in the way
        print(f"rankscope: the probe stays out: {error}", file=sys.stderr)  # noqa: T201
        return SilentWatch()
    _here = (os.getpid(), watch, guest)
    return watch


def _assemble(places: Places, environ: Mapping[str, str]) -> tuple[Watch, TorchGuest]:
    timeline = Timeline()
    collectives = Collectives(timeline, places.identity)
    pulse = Pulse(places=places, sources=(collectives, Flight()))
    sender = Sender(line=Line(environ), identity=places.identity, pulse=pulse)
    undo: list[Callable[[], object]] = []

    def detach() -> None:
        global _here  # noqa: PLW0603  one watch a process
        _here = None
        while undo:
            undo.pop()()

    watch = Watch(
        timeline=timeline, sender=sender, pulse=pulse, collectives=collectives, detach=detach
    )
    pulse.phases = watch.phases
    guest = TorchGuest(watch=watch, timeline=timeline, places=places)
    crashes = Crashes(watch.say, sender.flush)
    pauses = Pauses(timeline)

    def farewell() -> None:
        if not crashes.seen:
            watch.phase("shutdown")
        sender.close()

    def torch_is_here(module: ModuleType) -> None:
        guest.enter(module)

    sender.start()
    undo.append(farewell)
    watch.phase("init")
    crashes.install()
    undo.append(crashes.remove)
    pauses.install()
    undo.append(pauses.remove)
    undo.append(guest.leave)
    undo.append(when_imported("torch", torch_is_here))
    atexit.register(watch.detach)
    undo.append(lambda: atexit.unregister(watch.detach))
    return watch, guest
