"""Lists of processes, as `ps` and `top` print them, that show a training which does nothing.

One that trains keeps a core busy, if only to start what its device computes. One that waits for a
disk or a driver is in state D, one that ended and that nobody asked for is a zombie; where one is
busy and all others rest, these wait for it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST_SECONDS, IDLE = 600.0, 0.05
"""A process that has lived so long on less than such a share of a core stands."""

BUSY, RESTS = 50.0, 1.0
"""Shares of a core, in percent, of a process that computes and of one that waits."""

_HEADER = re.compile(
    rb"^ *(?=.*\bPID\b|.*\bELAPSED\b)(?=.*(?:\bELAPSED\b.*\bTIME\b|\bTIME\b.*\bELAPSED\b|%CPU))"
    rb".*\b(?:CMD|COMMAND|Command)\b\s*$"
)
_SPAN = re.compile(rb"(?:(?:(\d{1,4})-)?(\d{1,2}):)?(\d{1,4}):(\d\d)")
_NUMBER = re.compile(rb"\d{1,5}(?:\.\d{1,3})?")
_TRAINING = re.compile(
    rb"\bpython[\d.]{0,5}[\] ](?!.*(?:torchrun|\blaunch|accelerate|deepspeed|mpirun|horovodrun|"
    rb"jupyter|tensorboard|wandb|multiprocessing|\bray\b|-m +http))"
)
"""A program of Python, and no launcher, helper or page, which wait all the time."""
_PARENT = re.compile(rb"^\S*(?:ba|z|da)?sh +-c ")


@dataclass(frozen=True, slots=True)
class ListedTraining:
    """A training of a list: its line, its state, and how much of a core it had, None: not said.

    `lived`: seconds since it started and seconds of a core that it had.
    """

    place: int
    text: bytes
    state: bytes
    share: float | None
    lived: tuple[float, float] | None

    @property
    def stands(self) -> bool:
        """Return whether it does nothing, whatever others do."""
        if self.state in (b"D", b"Z"):
            return True
        return self.lived is not None and (
            self.lived[0] >= LEAST_SECONDS and self.lived[1] < IDLE * self.lived[0]
        )


def idle(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of a process that stands, where a list has no training that does not."""
    rows = list(_rows(lines))
    odd = [one for one in rows if one.state in (b"D", b"Z")]
    if not odd and rows and all(one.stands for one in rows):
        odd = rows
    shares = [one.share for one in rows if one.share is not None]
    busy = sum(share >= BUSY for share in shares)
    rest = sum(share < RESTS for share in shares)
    if not odd and busy == 1 and rest > busy and busy + rest == len(rows):
        odd = [one for one in rows if one.share is not None and one.share < RESTS]
    return [(odd[0].place, odd[0].text)] if odd else []


def _rows(lines: Sequence[bytes]) -> Iterator[ListedTraining]:
    """Yield the trainings of a list."""
    columns: list[bytes] = []
    for place, line in enumerate(lines):
        if _HEADER.match(line):
            columns = line.split()
            continue
        cells = line.split(None, len(columns) - 1) if columns else []
        if not columns or len(cells) < len(columns):
            columns = []
            continue
        named = dict(zip(columns, cells, strict=True))
        command = cells[-1].strip()
        if _TRAINING.search(command + b" ") is None or _PARENT.match(command):
            continue
        elapsed, took = (_seconds(named.get(name, b"")) for name in (b"ELAPSED", b"TIME"))
        yield ListedTraining(
            place,
            line.strip(),
            (named.get(b"STAT") or named.get(b"S") or b"")[:1],
            _share(named.get(b"%CPU", b"")),
            None if elapsed is None or took is None else (elapsed, took),
        )


def _share(cell: bytes) -> float | None:
    return float(cell) if _NUMBER.fullmatch(cell) else None


def _seconds(cell: bytes) -> float | None:
    """Return what a cell such as 1-02:03:04 says in seconds, None where it is of another form."""
    found = _SPAN.fullmatch(cell)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds
