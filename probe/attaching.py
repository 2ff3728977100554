"""Putting the probe together in one process, once, and taking it away again."""

import atexit
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..vocabulary.samples import Scalar
from .collectives import Collectives
from .identity import Identity, identify
from .line import Line
from .pulse import Pulse
from .sender import Sender
from .silent import SilentWatch
from .timeline import Timeline
from .watch import Watch

_OFF = {"0", "off", "false", "no"}

_here: tuple[int, Watch] | None = None
"""The pid and the watch of this process: a second attach gets the same one, a fork starts anew."""


def attach(  # noqa: PLR0917  the contract's own order
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
            return _here[1]
        who = identify(
            environ,
            job=job,
            attempt=attempt,
            rank=rank,
            local_rank=local_rank,
            world_size=world_size,
        )
        places = {"framework": framework, "dp": dp, "tp": tp, "pp": pp, "ep": ep}
        watch = _assemble(who, environ, places, model, optimizer)
    except Exception as error:  # noqa: BLE001  the edge of the job: better blind than in the way
        print(f"rankscope: the probe stays out: {error}", file=sys.stderr)  # noqa: T201
        return SilentWatch()
    _here = (os.getpid(), watch)
    return watch


def _assemble(
    who: Identity,
    environ: Mapping[str, str],
    places: Mapping[str, Scalar | None],
    model: object,
    optimizer: object,
) -> Watch:
    line = Line(environ)
    timeline = Timeline()
    collectives = Collectives(timeline)
    known = {name: value for name, value in places.items() if value is not None}

    def identity() -> Identity:
        return who

    def place() -> dict[str, Scalar]:
        return {"framework": "torch" if "torch" in sys.modules else "python", **known}

    pulse = Pulse(identity=identity, place=place, sources=(collectives,))
    sender = Sender(line=line, identity=identity, pulse=pulse)
    undo: list[Callable[[], Any]] = []

    def detach() -> None:
        global _here  # noqa: PLW0603  one watch a process
        while undo:
            undo.pop()()
        _here = None

    watch = Watch(
        timeline=timeline,
        sender=sender,
        pulse=pulse,
        collectives=collectives,
        identity=identity,
        detach=detach,
    )

    def farewell() -> None:
        watch.phase("shutdown")
        sender.close()

    undo.append(farewell)
    atexit.register(watch.detach)
    undo.append(lambda: atexit.unregister(watch.detach))
    sender.start()
    watch.phase("init")
    return watch
