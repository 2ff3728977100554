"""Times as lines of logs write them, in seconds since the epoch."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from ...vocabulary.times import MONTHS

_FULL = re.compile(
    r"(?<!\d)(?P<date>\d{4}-\d\d-\d\d)(?:[ T_,]|-(?=\d\d:))(?P<time>\d\d:\d\d:\d\d)"
    r"(?:[.,](?P<part>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_SLASHES = re.compile(
    r"(?<!\d)(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4}) (?P<time>\d\d:\d\d:\d\d)"
)
_GLOG = re.compile(
    r"\[?[IWEFC](?P<month>1[0-2]|0?[1-9])(?P<day>[0-3]\d) "
    r"(?P<time>\d\d:\d\d:\d\d)\.(?P<part>\d{6,9})"
)
_LOG4J = re.compile(
    r"(?P<date>\d\d/\d\d/\d\d) (?P<time>\d\d:\d\d:\d\d) "
    r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) [\w.$]{1,200}:"
)
"""Spark's: year, month and day of two digits, told from other orders by what stands behind them."""
_ASCTIME = re.compile(
    r"[A-Z][a-z]{2} (?P<date>[A-Z][a-z]{2} [ \d]\d) (?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})\b"
)
_MILLISECONDS = re.compile(r'"time_ms": ?(\d{12,13})\b')
"""MLPerf's field."""
CLOCK = re.compile(rb"\d\d:\d\d:\d\d|time_ms")
"""What every time has, or is called."""
_NEAR = 400
"""A time stands at the start of a line; a bar may stand before it where writers interleave."""

_EARLIEST = 946_684_800.0  # 2000-01-01
_LATEST = 4_102_444_800.0  # 2100-01-01


def read(text: str, zone: tzinfo | None = None, near: float | None = None) -> float | None:
    """Return when a line says that it was written, None where it does not.

    `zone` is that of times without one, None: the machine's. Times of C++ code have no year: the
    one that comes closest to `near` is taken, and without `near` there is none.
    """
    head = text[:_NEAR]
    if '"time_ms"' in head and (found := _MILLISECONDS.search(head)):
        return int(found[1]) / 1e3
    if found := _FULL.search(head):
        return _epoch(
            f"{found['date']}T{found['time']}", found["part"], _offset(found["zone"]) or zone
        )
    if (found := _GLOG.search(head)) and near is not None:
        return _closest(found, zone, near)
    if found := _SLASHES.search(head):
        date = f"{found['year']}-{found['month']}-{found['day']}"
        return _epoch(f"{date}T{found['time']}", None, zone)
    if found := _LOG4J.match(head):
        return _epoch(f"20{found['date'].replace('/', '-')}T{found['time']}", None, zone)
    if found := _ASCTIME.match(head):
        month, day = found["date"].split()
        if month in MONTHS:
            date = f"{found['year']}-{MONTHS.index(month) + 1:02}-{int(day):02}"
            return _epoch(f"{date}T{found['time']}", None, zone)
    return None


def _epoch(text: str, part: str | None, zone: tzinfo | None) -> float | None:
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=zone)
        at = moment.timestamp() + (float(f"0.{part}") if part else 0.0)
    except (ValueError, OverflowError, OSError):
        return None
    return at if _EARLIEST <= at < _LATEST else None


def _offset(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    delta = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    try:
        return timezone(delta if text[0] == "+" else -delta)
    except ValueError:
        return None


def _closest(found: re.Match[str], zone: tzinfo | None, near: float) -> float | None:
    year = datetime.fromtimestamp(near, tz=UTC).year
    dates = (f"{one}-{int(found['month']):02}-{found['day']}" for one in (year - 1, year, year + 1))
    times = [_epoch(f"{date}T{found['time']}", found["part"], zone) for date in dates]
    return min((at for at in times if at is not None), key=lambda at: abs(at - near), default=None)
