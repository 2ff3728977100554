"""Which files have values of training in a form that nobody knows, as `rankscope doctor` says."""

from collections.abc import Iterable, Sequence

from ...formats import tensorboard
from ...formats.training_logs import LineFormat, TrainingLogParser
from .sources import LogSource
from .tail import FileTail

_LOOKED_AT = 64 << 10
"""Bytes at the end of a file."""
_MOST_FILES = 16


def described(sources: Iterable[LogSource], formats: Sequence[LineFormat] | None) -> str:
    """Return what to say of the ends of these files; "" where all is understood.

    `formats` None: those that ship.
    """
    logs = [one for one in sources if tensorboard.MARK not in one.name.rpartition("/")[2]]
    parts = [found for one in logs[:_MOST_FILES] if (found := _unread(one, formats))]
    return "; ".join(parts)


def _unread(source: LogSource, formats: Sequence[LineFormat] | None) -> str:
    lines: list[str] = []
    parser = TrainingLogParser(formats=formats, unknown=lambda _line, text: lines.append(text))
    try:
        tail = FileTail(source.open_path, position=None)
    except OSError:
        return ""  # it is gone, or may not be read: said elsewhere
    begin = max(0, tail.size - _LOOKED_AT)
    tail.skip_to(begin)
    if begin:
        parser.skip()
    parser.feed(tail.read(_LOOKED_AT))
    parser.end()
    tail.close()
    if not lines:
        return ""
    what = "line looks" if len(lines) == 1 else "lines look"
    return (
        f"{len(lines)} {what} like training values of an unknown form: {source.name}: "
        f"{lines[0][:200]} (logs.formats takes a form of one's own)"
    )
