"""Lists of processes, as `ps` prints them, that show a training which does nothing.

One that trains keeps a core busy, if only to start what its device computes.
"""

import re
from collections.abc import Iterator, Sequence

LEAST_SECONDS, IDLE = 600.0, 0.05
"""A process that has lived so long on less than such a share of a core stands."""

_HEADER = re.compile(rb"^ *(?=.*\bELAPSED\b)(?=.*\bTIME\b).*\b(?:CMD|COMMAND)\b\s*$")
_SPAN = re.compile(rb"(?:(?:(\d{1,4})-)?(\d{1,2}):)?(\d{1,4}):(\d\d)")
_TRAINING = re.compile(
    rb"\bpython[\d.]{0,5} (?!.*(?:torchrun|\blaunch|accelerate|deepspeed|mpirun|horovodrun|jupyter|"
    rb"tensorboard|wandb|multiprocessing|\bray\b|-m +http))"
)
"""A program of Python, and no launcher, helper or page, which wait all the time."""
_PARENT = re.compile(rb"^\S*(?:ba|z|da)?sh +-c ")


def idle(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of a process that stands, where a list has no training that does not."""
    rows = [(place, line.strip(), elapsed, busy) for place, line, elapsed, busy in _rows(lines)]
    stands = [elapsed >= LEAST_SECONDS and busy < IDLE * elapsed for _, _, elapsed, busy in rows]
    return [rows[0][:2]] if rows and all(stands) else []


def _rows(lines: Sequence[bytes]) -> Iterator[tuple[int, bytes, float, float]]:
    """Yield (place, text, seconds lived, seconds of a core) of the trainings of a list."""
    columns: list[bytes] = []
    for place, line in enumerate(lines):
        if _HEADER.match(line):
            columns = line.split()
            continue
        cells = line.split(None, len(columns) - 1) if columns else []
        if not columns or len(cells) < len(columns):
            columns = []
            continue
        spans = [_seconds(cells[columns.index(name)]) for name in (b"ELAPSED", b"TIME")]
        command = cells[-1]
        if None not in spans and _TRAINING.search(command) and not _PARENT.match(command):
            yield place, line, spans[0] or 0.0, spans[1] or 0.0


def _seconds(cell: bytes) -> float | None:
    """Return what a cell such as 1-02:03:04 says in seconds, None where it is of another form."""
    found = _SPAN.fullmatch(cell)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds
