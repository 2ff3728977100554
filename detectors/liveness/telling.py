"""Which of several error lines says most of why a process ended.

An exception's last line, or that native code threw one, says that a process ended. A line that says
what its device reported says why, also where it is printed below the other: frameworks wrap errors
of devices, and watchdogs print them after the exception that they caused.
"""

import re
from collections.abc import Iterable

from ...vocabulary.samples import Event
from ..tenants import signature_of

_GENERAL = re.compile(r"^(?:python\.(?:exception|aborted|fatal_error)|native\.exception)$")
_CONSEQUENCES = re.compile(r"^cuda\.(?:illegal_access|launch_failure)$")
_MEMORY = "gpu.out_of_memory"
"""What a program does that got no memory may be any of these."""
_OF_DEVICES = re.compile(r"^(?:gpu\.|cuda\.(?:ecc|nvlink|launch_failure|illegal_access))")
TOGETHER_SECONDS = 60.0
"""Lines of one end are no further apart."""


def first(lines: Iterable[Event]) -> Event | None:
    """Return the oldest of some lines, or one soon after it that says why; None where none is."""
    ordered = sorted(lines, key=lambda event: event.at)
    if not ordered:
        return None
    oldest = ordered[0]
    near = [one for one in ordered if one.at <= oldest.at + TOGETHER_SECONDS]
    if _CONSEQUENCES.match(signature_of(oldest)):
        return next((one for one in near if signature_of(one) == _MEMORY), oldest)
    if not _GENERAL.match(signature_of(oldest)):
        return oldest
    return next((one for one in near if _OF_DEVICES.match(signature_of(one))), oldest)
