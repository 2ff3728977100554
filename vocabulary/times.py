"""Times as people and programs exchange them: RFC 3339 out, RFC 3339 or epoch seconds in."""

from datetime import UTC, datetime


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
