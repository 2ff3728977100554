"""One line of the text format: a series, its value, and what may follow."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(
    r"[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_.]*)|\"((?:[^\"\\]|\\.)*)\")[ \t]*=[ \t]*"
    r"\"((?:[^\"\\]|\\.)*)\"[ \t]*"
)
_VALUE = re.compile(r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|infinity|nan)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}


class BadLineError(ValueError):
    """A line that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class ExpositionSeries:
    """A metric's name and its labels, sorted by name; labels with an empty value are left out."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()

    def label(self, name: str) -> str:
        """Return the value of a label, "" for one that is not there."""
        for key, value in self.labels:
            if key == name:
                return value
        return ""


def series(text: str) -> ExpositionSeries:
    """Read `name{label="value",...}`; raises BadLineError."""
    matched = _NAME.match(text)
    if matched is None:
        raise BadLineError(text)
    name, rest = matched.group(), text[matched.end() :].strip()
    if not rest:
        return ExpositionSeries(name)
    if not rest.startswith("{") or not rest.endswith("}"):
        raise BadLineError(text)
    found: dict[str, str] = {}
    at, end = 1, len(rest) - 1
    while at < end:
        label = _LABEL.match(rest, at, end)
        if label is None:
            if not rest[at:end].strip():
                break
            raise BadLineError(text)
        key = label.group(1) or unescaped(label.group(2))
        if key in found:
            raise BadLineError(text)
        found[key] = unescaped(label.group(3))
        at = label.end()
        if at < end:
            if rest[at] != ",":
                raise BadLineError(text)
            at += 1
    return ExpositionSeries(
        name, tuple(sorted((key, value) for key, value in found.items() if value))
    )


def value(text: str) -> float:
    """Read a number as Prometheus writes it; raises BadLineError.

    Python's own float takes more (underscores, other scripts' digits), so it is not asked alone.
    """
    if _VALUE.fullmatch(text.lower()) is None or not text.isascii():
        raise BadLineError(text)
    return float(text)


def split(line: str) -> tuple[str, str]:
    """Split a line into the text of its series and what follows; raises BadLineError.

    The slow and exact way: a closing brace may stand in a label's value or in an exemplar.
    """
    opened = line.find("{")
    blank = min((at for at in (line.find(" "), line.find("\t")) if at >= 0), default=-1)
    if opened < 0 or (0 <= blank < opened and line[blank:opened].strip()):
        if blank < 0:
            raise BadLineError(line)
        return line[:blank], line[blank + 1 :]
    quoted, at = False, opened + 1
    while at < len(line):
        char = line[at]
        if quoted and char == "\\":
            at += 1
        elif char == '"':
            quoted = not quoted
        elif char == "}" and not quoted:
            return line[: at + 1], line[at + 1 :]
        at += 1
    raise BadLineError(line)


def tail(text: str) -> tuple[float, float | None]:
    """Read what follows a series: value, perhaps a timestamp, perhaps an exemplar."""
    fields = text.split("#", 1)[0].split()
    if not 1 <= len(fields) <= 2:
        raise BadLineError(text)
    return value(fields[0]), value(fields[1]) if len(fields) == 2 else None


def unescaped(text: str) -> str:
    r"""Return a label's value with \\, \" and \n resolved; other escapes stay as they are."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found.group(1), found.group()), text)
