"""What stands before a line of a kernel's log: times, hosts and the marks of whoever passed it on.

Each form is a pattern whose groups say what it tells; forms may stand one behind another, as where
a console's time comes before the syslog's, and the inner one is believed. Sources: dmesg(1) of
util-linux 2.38 (--ctime, --decode, --reltime, --time-format), journalctl(1) of systemd 255 (short
and its variants), RFC 3164 and 5424, and CONFIG_PRINTK_CALLER of Linux 5.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.times import MONTHS

_MONTH = "|".join(MONTHS)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"\d\d:\d\d:\d\d"
_ISO = rf"\d{{4}}-\d\d-\d\d[T -]{_CLOCK}(?:[.,]\d{{1,9}})?(?: ?Z| ?[+-]\d\d:?\d\d)?"
_ISO_T = _ISO.replace("[T -]", "T").replace("[.,]", r"\.")
"""As journals and syslogs write it; dmesg writes a comma, and no host."""
_HOST = r"(?!(?:INFO|WARN|ERROR|DEBUG|WARNING) )(?P<host>[A-Za-z0-9][\w.-]{0,252})"
_WHO = r"(?P<who>[\w./@-]{1,48}(?:\[\d{1,9}\])?:)"
_CALLER = r"(?:\[ *[TC]\d{1,9}\] ?)?"
_UPTIME = r"\[ *(?P<uptime>\d{1,12}\.\d{1,9})(?: +<[^>]{0,24}>)?\]"
_LEVEL = r"(?:<(?P<priority>\d{1,3})>|[a-z0-9]{2,8} *: ?[a-z]{3,7} *: )?"

_AHEAD_SECONDS = 86_400.0
"""A clock may be ahead of the time that is known, or be of another zone."""
_EARLIEST, _LATEST = 946_684_800.0, 4_102_444_800.0  # 2000 to 2100


@dataclass(frozen=True, slots=True)
class YearlessTime:
    """A time as syslog writes it: in which year, others must know. `seconds` of the day."""

    month: int
    day: int
    seconds: float

    def epoch(self, near: float, zone: tzinfo | None) -> float | None:
        """Return the latest such moment that is not after `near` by more than a day."""
        year = datetime.fromtimestamp(near, tz=UTC).year
        for one in (year + 1, year, year - 1, year - 2, year - 3, year - 4):  # 29 February
            try:
                day = datetime(one, self.month, self.day, tzinfo=zone)
                at = day.timestamp() + self.seconds
            except (ValueError, OverflowError, OSError):
                continue
            if at <= near + _AHEAD_SECONDS:
                return at
        return None


@dataclass(frozen=True, slots=True)
class LineHead:
    """What stands before a line's text.

    at: seconds since the epoch; yearless: the time where it has no year; uptime: seconds since
    boot; since: seconds since the line above. kernels: whether nothing but a kernel's log has it.
    """

    at: float | None = None
    yearless: YearlessTime | None = None
    uptime: float | None = None
    since: float | None = None
    priority: int | None = None
    host: str = ""
    kernels: bool = False

    @property
    def tells(self) -> bool:
        """Return whether it says anything of when."""
        told = (self.at, self.yearless, self.uptime, self.since)
        return any(one is not None for one in told)

    def over(self, outer: "LineHead") -> "LineHead":
        """Return both together: what the inner one does not say, the outer one does."""
        return LineHead(
            at=outer.at if self.at is None else self.at,
            yearless=self.yearless or outer.yearless,
            uptime=outer.uptime if self.uptime is None else self.uptime,
            since=outer.since if self.since is None else self.since,
            priority=outer.priority if self.priority is None else self.priority,
            host=self.host or outer.host,
            kernels=self.kernels or outer.kernels,
        )


def _form(pattern: str, *, kernels: bool) -> tuple[DeferredPattern, bool]:
    return DeferredPattern(f"(?s){pattern}"), kernels


_FORMS = (
    # A driver's name and its device's look like a host and a program: only "kernel:" is believed.
    _form(rf"{_LEVEL}{_UPTIME} ?{_CALLER}(?:{_HOST} (?P<who>kernel:) ?)?", kernels=True),
    _form(
        rf"{_LEVEL}\[(?P<ctime>{_DAY} (?:{_MONTH}) [ \d]\d {_CLOCK} \d{{4}})\] ?{_CALLER}",
        kernels=True,
    ),
    _form(rf"{_LEVEL}\[(?P<month>{_MONTH}) ?(?P<day>\d\d?) (?P<clock>\d\d:\d\d)\] ?", kernels=True),
    _form(rf"{_LEVEL}\[ *\+ *(?P<since>\d{{1,9}}\.\d{{1,9}})\] ?", kernels=True),
    _form(
        rf"(?:<\d{{1,3}}>)?(?P<month>{_MONTH}) +(?P<day>\d\d?) "
        rf"(?P<clock>{_CLOCK}(?:[.,]\d{{1,9}})?) (?:{_HOST} )?(?:{_WHO} ?)?",
        kernels=False,
    ),
    _form(
        rf"(?:<\d{{1,3}}>1 )(?P<iso>{_ISO}) {_HOST} (?P<who>kernel|\S+) \S+ \S+ "
        r"(?:-|\[.{0,400}?\]) ?",
        kernels=False,
    ),
    _form(rf"{_DAY} (?P<iso>{_ISO}) (?:(?P<zone>[A-Z]{{2,5}}) )?{_HOST} {_WHO} ?", kernels=False),
    _form(rf"(?P<unix>\d{{10}}\.\d{{6}}) {_HOST} {_WHO} ?", kernels=False),
    _form(rf"(?P<iso>{_ISO}) {_HOST} (?P<who>kernel:) ?", kernels=True),
    _form(rf"(?P<iso>{_ISO_T}) (?:{_HOST} )?{_WHO} (?=\S)", kernels=False),
    _form(rf"(?:{_HOST}: )?kern: ?[a-z]{{3,9}}: \[(?P<iso>{_ISO})\]: ?", kernels=True),  # Talos
    _form(rf"{_LEVEL}\[?(?P<iso>{_ISO})\]?:? ", kernels=False),
    _form(r"(?P<who>kernel:) ?", kernels=True),
)  # fmt: skip
_QUOTED = DeferredPattern(r"[ \t>]{0,64}")
_SENDER = DeferredPattern(rf"{_HOST}: ?")
"""What pdsh and its like write before each line: the host."""
_MOST_HEADS = 5


def read(text: str, zone: tzinfo | None = None) -> tuple[LineHead, str]:
    """Return what stands before a line's text, and the text.

    `zone` is that of times without one, None: the machine's.
    """
    start = _end(_QUOTED.match(text))
    head = LineHead()
    begun = False
    for found in _heads(text, start, zone):
        inner, end = found
        head, start, begun = inner.over(head), end, True
    if not begun and (sender := _SENDER.match(text, start)):
        for inner, end in _heads(text, sender.end(), zone):
            head, start = inner.over(head), end
        if head.tells and not head.host and not sender["host"].isdigit():
            head = LineHead(host=sender["host"]).over(head)
    return head, text[start:] if head.tells or head.kernels else text


def _heads(text: str, start: int, zone: tzinfo | None) -> Iterator[tuple[LineHead, int]]:
    """Yield the heads that stand one behind another, and where each ends."""
    for _ in range(_MOST_HEADS):
        found = _one(text, start, zone)
        if found is None:
            return
        yield found
        start = found[1]


def _one(text: str, start: int, zone: tzinfo | None) -> tuple[LineHead, int] | None:
    for pattern, kernels in _FORMS:
        found = pattern.match(text, start)
        if found is None:
            continue
        groups = found.groupdict()
        who = groups.get("who") or ""
        own = who.rstrip(":") == "kernel"
        end = found.end() if own or not who else found.start("who")
        if end == start:
            continue
        priority = groups.get("priority")
        head = LineHead(
            at=_at(groups, zone),
            yearless=_yearless(groups),
            uptime=_number(groups.get("uptime")),
            since=_number(groups.get("since")),
            priority=int(priority) & 7 if priority else None,
            host=groups.get("host") or "",
            kernels=kernels or own,
        )
        if head.tells or own:
            return head, end
    return None


def _at(groups: dict[str, str | None], zone: tzinfo | None) -> float | None:
    if iso := groups.get("iso"):
        return epoch(iso, UTC if groups.get("zone") in ("UTC", "GMT") else zone)
    if written := groups.get("ctime"):
        return _ctime(written, zone)
    return _plausible(_number(groups.get("unix")))


def epoch(written: str, zone: tzinfo | None = None) -> float | None:
    """Return the seconds since the epoch of an ISO time, None where it is none."""
    text = written.strip().replace(",", ".").replace(" Z", "Z").replace(" +", "+")
    head, dot, part = text.partition(".")
    if dot:  # Python before 3.11 reads three or six digits, and no more in any version
        digits = re.match(r"\d*", part)
        count = digits.end() if digits else 0
        text = f"{head}.{part[:count][:6]:0<6}{part[count:]}"
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return _plausible(moment.timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def _ctime(text: str, zone: tzinfo | None) -> float | None:
    try:
        read = datetime.strptime(text, "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  the zone follows
        return read.replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _yearless(groups: dict[str, str | None]) -> YearlessTime | None:
    month, clock = groups.get("month"), groups.get("clock")
    if not month or not clock:
        return None
    hours, minutes, *seconds = clock.split(":")
    of_day = (
        int(hours) * 3600
        + int(minutes) * 60
        + float(seconds[0].replace(",", ".") if seconds else 0)
    )
    day = int(groups.get("day") or 0)
    if not (1 <= day <= 31 and of_day < 86_401):
        return None
    return YearlessTime(MONTHS.index(month) + 1, day, of_day)


def _plausible(at: float | None) -> float | None:
    return at if at is not None and _EARLIEST <= at < _LATEST else None


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _end(found: re.Match[str] | None) -> int:
    return found.end() if found else 0
