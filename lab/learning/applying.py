"""A catalogue with other numbers: as a value, and in its files, comments and order kept."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ...alerts.causes.calibration import Calibration
from ...alerts.causes.catalogue import Catalogue, Cause, Prediction
from .parameters import ENGINE, KEYS, Parameter, engine, of_prediction, values

_FAULT = re.compile(r'^id = "(.+)"')
_TABLE = re.compile(r"^(predicts|contradicts) = \[")


def learned(knowledge: Catalogue, multipliers: Mapping[Parameter, float]) -> dict[Parameter, float]:
    """Return every number of a catalogue times its multiplier, to two digits."""
    return {
        parameter: round(value * multipliers.get(parameter, 1.0), 2)
        for parameter, value in values(knowledge).items()
    }


def adjusted(
    knowledge: Catalogue,
    numbers: Mapping[Parameter, float],
    calibration: Calibration | None = None,
) -> Catalogue:
    """Return a catalogue with these numbers, those that are not named as they were."""
    weights = replace(
        knowledge.weights,
        **{
            KEYS.get(part, part): numbers.get(
                engine(part), getattr(knowledge.weights, KEYS.get(part, part))
            )
            for part in ENGINE
        },
    )
    return replace(
        knowledge,
        weights=weights,
        causes=tuple(_cause(cause, numbers) for cause in knowledge.causes),
        calibration=calibration or knowledge.calibration,
    )


def rewrite(text: str, numbers: Mapping[Parameter, float]) -> str:
    """Return a file of causes with these numbers in its rows; nothing else changes."""
    fault, table, position = "", "", 0
    lines: list[str] = []
    for line in text.split("\n"):
        if found := _FAULT.match(line):
            fault = found[1]
        if found := _TABLE.match(line):
            table, position = found[1], 0
        if line.startswith(("]", "actions", "checks")):
            table = ""
        written = line
        if table and "{ finding = " in line:
            at = position
            position += line.count("{ finding = ")
            written = _row(line, fault, table, at, numbers)
        lines.append(written)
        if table and line.rstrip().endswith("}]"):
            table = ""
    return "\n".join(lines)


def rewrite_head(
    text: str, numbers: Mapping[Parameter, float], calibration: Calibration, version: str
) -> str:
    """Return catalogue.toml with these constants, this calibration and version."""
    text = _set(text, "version", f'"{version}"')
    for part in ENGINE:
        if engine(part) in numbers:
            text = _set(text, KEYS.get(part, part), f"{numbers[engine(part)]:g}")
    curve = ", ".join(f"[{lead:g}, {chance:g}]" for lead, chance in calibration.curve)
    text = _set(text, "curve", f"[{curve}]")
    text = _set(text, "temperature", f"{calibration.temperature:g}")
    text = _set(text, "high", f"{calibration.high:g}")
    text = _set(text, "medium", f"{calibration.medium:g}")
    return _set(text, "cases", f'"{calibration.cases}"')


def write(
    folder: Path, numbers: Mapping[Parameter, float], calibration: Calibration, version: str
) -> list[Path]:
    """Write the catalogue's files below the folder of the packages; return what changed.

    Raises OSError.
    """
    rows = sorted(folder.glob("vocabulary/faults/*.toml"))
    changes: dict[Path, Callable[[str], str]] = {
        path: lambda text: rewrite(text, numbers) for path in rows
    }
    head = folder / "alerts" / "causes" / "catalogue.toml"
    changes[head] = lambda text: rewrite_head(text, numbers, calibration, version)
    changed: list[Path] = []
    for path, change in changes.items():
        before = path.read_text(encoding="utf-8")
        after = change(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def _cause(cause: Cause, numbers: Mapping[Parameter, float]) -> Cause:
    def number(part: str, position: int, value: float) -> float:
        return numbers.get(of_prediction(cause, part, position), value)

    predicts: list[Prediction] = [
        replace(
            row,
            present=number("present", at, row.present),
            absent=number("absent", at, row.absent),
        )
        for at, row in enumerate(cause.predicts)
    ]
    contradicts = [
        replace(row, present=number("contradicts", at, row.present))
        for at, row in enumerate(cause.contradicts)
    ]
    return replace(cause, predicts=tuple(predicts), contradicts=tuple(contradicts))


def _row(
    line: str, fault: str, table: str, position: int, numbers: Mapping[Parameter, float]
) -> str:
    """Return a line of rows, each `{ finding = .. }`, with the numbers of these positions."""
    head, *rows = line.split("{ finding = ")
    written = [head]
    for at, row in enumerate(rows, start=position):
        parts = {"present": "present", "absent": "absent"}
        if table == "contradicts":
            parts = {"present": "contradicts"}
        text = row
        for key, part in parts.items():
            value = numbers.get(Parameter(fault, part, at))
            if value is not None:
                text = re.sub(rf"\b{key} = -?[\d.]+", f"{key} = {_number(value)}", text)
        written.append(text)
    return "{ finding = ".join(written)


def _number(value: float) -> str:
    """Return a number with one digit after the point at least."""
    return f"{value:.2f}".removesuffix("0")


def _set(text: str, key: str, value: str) -> str:
    """Set a key of catalogue.toml; the comment after it stays in its column."""

    def line(found: re.Match[str]) -> str:
        space = max(len(found[2]) + len(found[3]) - len(value), 1) if found[4] else 0
        return f"{found[1]}{value}{' ' * space}{found[4]}"

    return re.sub(
        rf'^({key} = )("[^"]*"|\[.*\]|[-\d.]+)( *)(#.*)?$',
        lambda found: line(found) if found[4] else f"{found[1]}{value}",
        text,
        count=1,
        flags=re.MULTILINE,
    )
