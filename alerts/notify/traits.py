"""What the outbox and the settings need to know of a format, as data.

`delivery` says what leaves when more than one message waits:

- "history": every message by itself, each incident's in order. For programs.
- "digest": one message that says what it stands for, and the present state. For people: a storm of
  changes is two messages in its first minute, then at most `per_minute`.
- "state": one message with the present state of every incident concerned, repeated while they are
  open. For programs that forget what is not repeated.

The notice of "digest" has as data `{"counts": {status: {severity: number}}, "happenings": [types],
"incidents": [...]}`, where `incidents` are the documents of the worst, at most MOST_LISTED; that of
"state" `{"incidents": [documents], "before": [documents as they were last sent]}`.
"""

from dataclasses import dataclass
from typing import Literal

MOST_LISTED = 8
"""Incidents that a digest describes; of the others it gives the number."""
MOST_OF_STATE = 200
"""Incidents in one message of a format that sends the present state."""


@dataclass(frozen=True, slots=True)
class FormatTraits:
    """How a format is delivered, and what its endpoints need.

    `credential` is the endpoint's `secret`: "signing" is a `whsec_` secret, made where none is
    given; "required" and "optional" are another party's, described in `credential_help`; with
    "none" there may be no secret. `grouped`: a message that folds several incidents is followed up
    under its own id. `address_is_secret`: the path of the URL is a token.
    """

    delivery: Literal["history", "digest", "state"] = "history"
    credential: Literal["signing", "required", "optional", "none"] = "optional"
    credential_help: str = ""
    credential_pattern: str = r"[\x21-\x7e]*"
    grouped: bool = False
    per_minute: int | None = None
    most_per_minute: int | None = None
    repeat_seconds: float | None = None
    address_is_secret: bool = False


QUIET = 2
"""Messages to people in a minute, unless their endpoint asks for more."""
