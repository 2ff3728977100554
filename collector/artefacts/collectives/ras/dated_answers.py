"""Answers of RAS in files: of their own or inside a log, and when each was given."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path

from .....formats.nccl import ras
from .....formats.nccl.ras import RasStatus
from .....formats.training_logs import cleaning, times

_APART_SECONDS = 120.0
"""Between answers whose times are not known: people ask again when minutes later nothing moved."""
_COPIED_SECONDS = 1.0
"""Files written so close together were copied: their times are not those of the answers."""
_SETTLED_SECONDS = 5.0
"""So long after its last line a job that stands has launched all that it will launch."""
_LONGEST_SECONDS = 1800.0
"""What an answer says is said of at most so long before it."""
_LINES_BEFORE = 2000
_MOST_LINE = 64 << 20
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class DatedAnswer:
    """An answer, the file that it stands in, and when it was given, s since the epoch.

    `since`: from when on what it says may have held: a job's last line before it.
    """

    file: str
    answer: RasStatus
    at: float
    since: float

    def stood_since(self, stepped: float | None) -> "DatedAnswer":
        """Return it as one that may hold since the last step, at `stepped`, was settled.

        Counts only grow, and where no step follows one that people ask for stands since then.
        """
        if stepped is None or stepped + _SETTLED_SECONDS >= self.since:
            return self
        return replace(self, since=max(stepped + _SETTLED_SECONDS, self.at - _LONGEST_SECONDS))


def alone(
    files: Mapping[str, Path], zone: tzinfo | None, unread: dict[str, str]
) -> list[DatedAnswer]:
    """Return the answers of files that begin with one, by when these were written."""
    answers: dict[str, list[DatedAnswer]] = {}
    for name, path in files.items():
        answers[name] = inside(name, path, zone)
        if not answers[name]:
            unread[name] = "answer of NCCL RAS: it ends before its communicators"
    written = {name: path.stat().st_mtime for name, path in files.items() if answers[name]}
    copied = len(written) > 1 and max(written.values()) - min(written.values()) < _COPIED_SECONDS
    names = sorted(written, key=lambda name: (0.0 if copied else written[name], _natural(name)))
    for place, name in enumerate(names if copied else ()):
        later = (len(names) - 1 - place) * _APART_SECONDS
        answers[name] = [
            one if one.answer.stamp else replace(one, at=one.at - later, since=one.since - later)
            for one in answers[name]
        ]
    return [one for each in answers.values() for one in each]


def _natural(name: str) -> tuple[str | int, ...]:
    return (_NUMBERS.sub("0", name), *map(int, (part[:18] for part in _NUMBERS.findall(name))))


def inside(name: str, path: Path, zone: tzinfo | None) -> list[DatedAnswer]:
    """Return the answers in a file, with their times: their own, or between lines that have one."""
    with path.open("rb") as opened:
        answers = ras.answers(_text(data) for data in opened)
    if not answers:
        return []
    dated = _dated(path, [one.line for one in answers], zone)
    written = path.stat().st_mtime
    found: list[DatedAnswer] = []
    for place, one in enumerate(answers):
        at = times.read(one.stamp, zone) if one.stamp else None
        since, otherwise = _between(place, answers, dated, written)
        if at is None:
            at = otherwise
        found.append(DatedAnswer(name, one, at, min(max(since, at - _APART_SECONDS), at)))
    return found


def _text(data: bytes) -> str:
    """Return a line with its blanks: of a JSON answer the place of its braces counts.

    One line may be all of it.
    """
    whole = data[:1].isspace() or b'"communicators_count"' in data
    return data[: _MOST_LINE if whole else cleaning.LONGEST].decode("utf-8", "replace")


def _dated(path: Path, lines: Sequence[int], zone: tzinfo | None) -> list[tuple[int, float]]:
    """Return (number, time) of lines around answers that begin in `lines`; others are not read.

    Those are the lines before an answer, and after it those up to the first with a time.
    """
    found: list[tuple[int, float]] = []
    at: float | None = None
    place, after = 0, False
    with path.open("rb") as opened:
        for number, data in enumerate(opened):
            if place < len(lines) and number >= lines[place]:
                place += 1
                after = True
            before = place < len(lines) and number >= lines[place] - _LINES_BEFORE
            if not (before or after):
                continue
            line = cleaning.clean(data[: cleaning.LONGEST])
            stamped = times.read(line.stamp or line.text, zone, at)
            if stamped is None or '"timestamp"' in line.text:
                continue
            at = stamped
            found.append((number, at))
            after = after and number == lines[place - 1]
    return found


def _between(
    place: int, answers: Sequence[RasStatus], dated: Sequence[tuple[int, float]], written: float
) -> tuple[float, float]:
    """Return since when an answer may hold and when it was given, where it has no time itself.

    Several between two lines with times are a time apart each.
    """
    line = answers[place].line
    before = max((one for one in dated if one[0] <= line), default=None)
    after = min((one for one in dated if one[0] > line), default=None)
    first, last = -1 if before is None else before[0], None if after is None else after[0]
    beside = [
        one.line for one in answers if first <= one.line and (last is None or one.line < last)
    ]
    number, count = beside.index(line) + 1, len(beside)
    if before is not None and before[0] == line:
        return before[1], before[1]
    if before is None:
        ended = written + _APART_SECONDS if after is None else after[1]
        at = ended - (count + 1 - number) * _APART_SECONDS
        return at - _APART_SECONDS, at
    apart = _APART_SECONDS if after is None else (after[1] - before[1]) / (count + 1)
    at = before[1] + number * apart
    return min(before[1] + _SETTLED_SECONDS, at) if number == 1 else at, at
