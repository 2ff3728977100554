r"""What reaches a terminal: text of jobs, hosts and logs is shown there, never obeyed.

Job names and log lines are other people's. A control character in one (ESC, a C1 code, a
right-to-left override) is printed as its escape, `\x1b`, by every verb.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO


def plain(text: str) -> str:
    """Return text on one line with its control characters as escapes."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def plain_lines(text: str) -> str:
    """Return text with its line ends kept and every other control character as an escape."""
    return "\n".join(plain(line) for line in text.split("\n"))


def plain_document(document: Any) -> Any:
    """Return a document of JSON with every text in it plain; keys are ours and stay."""
    if isinstance(document, str):
        return plain(document)
    if isinstance(document, Mapping):
        return {key: plain_document(value) for key, value in document.items()}
    if isinstance(document, Sequence):
        return [plain_document(value) for value in document]
    return document


def json_line(document: Any) -> str:
    """Return a document as one line of JSON: the same values, no raw control character."""
    text = json.dumps(document, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _json_escape(letter) for letter in text)


def complain(text: str) -> None:
    """Print a message on standard error."""
    print(plain_lines(text), file=sys.stderr)


class PlainOutput:
    """A stream whose text is made plain on the way; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, control characters other than line ends as escapes."""
        self._stream.write(plain_lines(text))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        """Write each of these texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _json_escape(letter: str) -> str:
    return json.dumps(letter)[1:-1]
