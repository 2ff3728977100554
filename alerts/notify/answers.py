"""What an answer means: by its status, and by the code that some receivers put into a 200.

No text of an answer is kept but a short message field: answers can hold what nobody asked for.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from ..ports import DeliveryOutcome
from . import plain

LONGEST_TEXT = 120
"""Characters of a receiver's message that an error repeats."""


def by_status(status: int) -> DeliveryOutcome:
    """Return the outcome where the status says it all: 2xx is success, nothing else is."""
    if 200 <= status < 300:
        return DeliveryOutcome(status)
    error = f"the receiver answered {status}"
    if 300 <= status < 400:
        error += ", and redirects are not followed"
    return DeliveryOutcome(status, error)


def by_code(
    status: int,
    body: bytes,
    *,
    keys: tuple[str, ...],
    texts: tuple[str, ...],
    meanings: Mapping[int, str],
    busy: Collection[int] = (),
    busy_seconds: float | None = None,
) -> DeliveryOutcome:
    """Return the outcome where a JSON body holds a code: 0 under the first of `keys` is success.

    `texts` are where its message is, `meanings` what to do about a code. A code of `busy` says that
    there were too many messages: no more for `busy_seconds`.
    """
    found = _object(body)
    code = next((found[key] for key in keys if isinstance(found.get(key), int)), None)
    if code is None:
        outcome = by_status(status)
        if outcome.accepted:
            return DeliveryOutcome(
                status, "the answer has no code: is this the address of another service?"
            )
        return outcome
    if code == 0 and 200 <= status < 300:
        return DeliveryOutcome(status)
    text = next((found[key] for key in texts if isinstance(found.get(key), str)), "")
    error = f"the receiver answered {status} with code {code}"
    if text:
        error += f" ({plain.line(text, LONGEST_TEXT)})"
    if code in meanings:
        error += f": {meanings[code]}"
    if code in busy:
        return DeliveryOutcome(status, error, busy_seconds, busy=True)
    return DeliveryOutcome(status, error)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
