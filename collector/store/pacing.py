"""When people may get their next message: the first one at once, then few and fuller ones. Pure."""

from collections.abc import Sequence

GATHER_SECONDS = 20.0
"""After a message, what follows is gathered for so long, however much the rate would allow."""
MINUTE_SECONDS = 62.0
"""A minute as receivers count it, with room for what the way there takes."""


def next_at(sent: Sequence[float], per_minute: int) -> float:
    """Return when the next message may go, given the times of those before, the newest last.

    No minute sees more than `per_minute` messages. A rate above the quiet two a minute gathers for
    a shorter time.
    """
    if not sent:
        return 0.0
    gap = min(GATHER_SECONDS, MINUTE_SECONDS / (per_minute + 1))
    if len(sent) < per_minute:
        return sent[-1] + gap
    return max(sent[-1] + gap, sent[-per_minute] + MINUTE_SECONDS)
