"""Times as people and programs exchange them: RFC 3339 out, RFC 3339 or epoch seconds in."""

from datetime import UTC, datetime

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""As syslog and asctime write them, in every locale."""
WEEK_SECONDS = 7 * 86_400
_FIRST_MONDAY = 4 * 86_400
"""The epoch began on a Thursday."""


def rfc3339(at: float) -> str:
    """Return seconds since the epoch as RFC 3339 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse(text: str) -> float:
    """Return seconds since the epoch from RFC 3339 or epoch seconds.

    Raises ValueError naming the text when it is neither; a time without a zone counts as UTC.
    """
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither RFC 3339 nor epoch seconds") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def week_of(at: float) -> int:
    """Return the Monday 00:00 UTC of the week of a time, in seconds since the epoch."""
    return int((at - _FIRST_MONDAY) // WEEK_SECONDS * WEEK_SECONDS + _FIRST_MONDAY)


def week_name(at: float) -> str:
    """Return the week of a time as ISO 8601 writes it: 2026-W47."""
    year, number, _ = datetime.fromtimestamp(week_of(at), UTC).isocalendar()
    return f"{year}-W{number:02}"


def week_named(name: str) -> int:
    """Return the Monday 00:00 UTC of a week by its name, in seconds since the epoch."""
    year, _, number = name.partition("-W")
    return int(datetime.fromisocalendar(int(year), int(number), 1).replace(tzinfo=UTC).timestamp())
