"""The JSON values in a text that may hold other lines as well, such as warnings before them."""

import json
import re
from typing import Any

from .errors import TornReportError

_START = re.compile(r"^[ \t]{0,8}([{\[])", re.MULTILINE)


def values(text: str) -> list[Any]:
    """Return each JSON value that begins a line. Raises TornReportError for one that is cut off.

    A line that begins with a bracket and is no JSON is a line of a log.
    """
    decoder, found, place = json.JSONDecoder(), list[Any](), 0
    while start := _START.search(text, place):
        try:
            value, place = decoder.raw_decode(text, start.start(1))
            found.append(value)
        except json.JSONDecodeError as error:
            if start[1] == "{":
                raise TornReportError(_torn(text, start.start(1), error)) from None
            place = start.end()
        except RecursionError:
            raise TornReportError(f"line {_line(text, start.start(1))}: nested too deep") from None
    return found


def _torn(text: str, start: int, error: json.JSONDecodeError) -> str:
    begun = _line(text, start)
    if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
        return (
            f"line {error.lineno}: the JSON that begins in line {begun} ends here: it was cut off"
        )
    return f"line {error.lineno}, column {error.colno}: no JSON from here on ({error.msg})"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
