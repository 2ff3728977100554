"""One thing that a launcher or a scheduler reported."""

from dataclasses import dataclass

from .forms import LaunchForm


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """What one line, with those before it that belong to it, reports; `line` counts from 1.

    tasks: numbers of the processes, as the launcher counts them (`form.counts`). code: the exit
    code, negative for a signal, None where the line says neither. size: how many processes the
    launcher started. pod: the pod meant, where it is named apart from its host. job: that meant by
    a scheduler's own log, which is of many. at: when the line, or the last one before it with a
    time, was written, in seconds since the epoch; None where none has one. dated: it is the line's
    own.
    """

    form: LaunchForm
    line: int
    text: str
    tasks: tuple[int, ...] = ()
    host: str = ""
    pid: int | None = None
    code: int | None = None
    size: int = 0
    pod: str = ""
    job: str = ""
    at: float | None = None
    dated: bool = False
