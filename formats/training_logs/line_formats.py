"""Formats of log lines as data: what a line looks like, and which metric each of its parts is.

A format is a TOML file in frameworks/, or a pattern of the user's settings. The groups of a pattern
are metrics of training without `training.`, dots as underscores (`loss`, `step_duration`), or names
that `values` maps. Two groups have a meaning of their own: `rank`, and `pairs`, which holds names
and values that `pair` reads one after the other, nothing between them left over. A line that is
`named` is read by the names in `values`, wherever in it they stand; its pattern says what else it
has.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal

from ...vocabulary import metrics, row_values, tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Scalar
from . import named, numbers

Printer = Literal["first", "last", "each"]
"""Whose line it is where nothing else says so: rank 0's, the highest rank's, or anybody's."""

FRAMEWORKS = (
    "megatron",
    "gptneox",
    "nemo",
    "nemo_bar",
    "deepspeed",
    "torchtitan",
    "verl",
    "openrlhf",
    "maxtext",
    "nanotron",
    "olmo",
    "composer",
    "mmengine",
    "xtuner",
    "paddlenlp",
    "espnet",
    "deepspeech",
    "returnn",
    "mindformers",
    "litgpt",
    "mlperf",
    "huggingface",
    "lightning",
    "accelerate",
    "nanogpt",
    "bars",
    "wenet",
    "nnunet",
    "yolo",
    "mxnet",
    "clu",
    "plain",
)
"""The files of frameworks/, one line each; a line is read by the first format that it matches."""

_SPECIAL = frozenset({"rank", "pairs", "epoch", "batch", "batches", "total"})
_PREFIX = "training."
_LONGEST_PATTERN = 2000
_GROUP = re.compile(r"\(\?P<(\w+)>")


class FormatError(ValueError):
    """A format cannot be used; the text says which part of it and why."""


@dataclass(frozen=True, slots=True)
class LineValue:
    """What one part of a line is: a metric, how to get its unit, the attributes of the point."""

    metric: str
    factor: float = 1.0
    inverse: bool = False
    attributes: tuple[tuple[str, Scalar], ...] = ()
    unit: str = ""
    """Of the metric, for values that name their own."""


@dataclass(frozen=True, slots=True)
class LineForm:
    """One form of a line. `needle` is a text that every such line has.

    `needs`: metrics, without their prefix, a line without which is none of these. `cumulative`:
    values that count from the start of the job. `interval`: a step's duration follows from the
    times of two lines. `hides_nan`: a loss of exactly 0 beside a gradient norm that is not finite
    stands for a NaN. `redrawn`: a step's values are those of its second line. `open_end`: nothing
    follows the last value, so that it may be cut: it is not read.

    `found_by`: texts of which the line has one, where `needle` alone would make the search for
    lines slow. `named`: the pattern is searched, not matched, and values are found by their names,
    whose order says which comes first where two are of one metric; the needle is in small letters.
    `least`: how many of them a line must have. `trains`: a line about an evaluation has these names
    too; it is passed over. `follows`: the line belongs to the step of the line before.
    """

    needle: str
    pattern: DeferredPattern
    names: DeferredPattern | None = None
    found_by: tuple[str, ...] = ()
    least: int = 1
    trains: bool = False
    follows: bool = False
    pair: DeferredPattern | None = None
    values: Mapping[str, LineValue | None] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    cumulative: frozenset[str] = frozenset()
    interval: bool = False
    hides_nan: bool = False
    redrawn: bool = False
    open_end: bool = False
    by_name: tuple[tuple[str, LineValue], ...] = ()
    """Of a form that is read by names: its values, by their names as they are compared."""


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line as a file has it: its values as "METRIC [UNIT] [ATTRIBUTE=VALUE ...]", "" for none."""

    needle: str
    pattern: str = ""
    pair: str = ""
    found_by: tuple[str, ...] = ()
    named: bool = False
    least: int = 1
    trains: bool = False
    follows: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    cumulative: tuple[str, ...] = ()
    interval: bool = False
    hides_nan: bool = False
    redrawn: bool = False
    open_end: bool = False


def _lines(rows: Sequence[LineRow]) -> tuple[LineForm, ...]:
    return tuple(_line(row) for row in rows)


@dataclass(frozen=True, slots=True)
class LineExample:
    """A line that a framework prints, and what it says by metric, without `training.`."""

    line: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The lines of one framework."""

    name: str
    framework: str
    rank: Printer
    lines: Annotated[tuple[LineForm, ...], row_values.WrittenAs(tuple[LineRow, ...], _lines)] = (
        field(metadata={"key": "line"})
    )
    examples: tuple[LineExample, ...] = field(default=(), metadata={"key": "example"})
    version: str = ""
    """Of the framework, or when its source was read."""
    source: str = ""
    whole: bool = True
    """A log that has one such line with a loss has no lines of other frameworks."""


@cache
def shipped() -> tuple[LineFormat, ...]:
    """Return the formats of the known frameworks."""
    package = __package__ or ""
    return tuple(tables.file(LineFormat, package, f"frameworks/{name}.toml") for name in FRAMEWORKS)


def own(
    name: str,
    *,
    contains: str,
    pattern: str,
    units: Mapping[str, str] | None = None,
    rank: Printer = "first",
) -> LineFormat:
    """Return a format of the user's: groups are metrics, `units` their units where others.

    Raises FormatError with what is wrong and what would be right.
    """
    units = units or {}
    if len(contains) < 3:
        raise FormatError("contains: write a text of 3 characters or more that every line has")
    if len(pattern) > _LONGEST_PATTERN:
        raise FormatError(f"pattern: more than {_LONGEST_PATTERN} characters")
    try:
        groups = set(re.compile(pattern).groupindex)
    except re.error as error:
        raise FormatError(f"pattern: {error}") from error
    line = _line(
        LineRow(
            contains, pattern, values={group: f"{group} {unit}" for group, unit in units.items()}
        )
    )
    if unknown := sorted(set(units) - groups):
        raise FormatError(f"units: the pattern has no group {', '.join(unknown)}")
    if "pairs" in groups or not groups - _SPECIAL:
        raise FormatError(f"pattern: name the groups after metrics: {', '.join(_names())}")
    return LineFormat(name=name, framework=name, rank=rank, lines=(line,))


def needles(formats: Sequence[LineFormat]) -> list[str]:
    """Return texts of which every line of these formats has one, each once."""
    every = (text for one in formats for line in one.lines for text in line.found_by)
    return list(dict.fromkeys(every))


def _line(row: LineRow) -> LineForm:
    values: dict[str, LineValue | None] = {
        name: value_of(name, spec) if spec else None for name, spec in row.values.items()
    }
    for group in _GROUP.findall(row.pattern):
        if group not in _SPECIAL and group not in values:
            values[group] = value_of(group, group)
    return LineForm(
        needle=row.needle,
        pattern=DeferredPattern(row.pattern),
        names=named.pattern(row.values) if row.named else None,
        found_by=row.found_by or (row.needle,),
        least=row.least,
        trains=row.trains,
        follows=row.follows,
        pair=DeferredPattern(row.pair) if row.pair else None,
        values=values,
        needs=frozenset(f"{_PREFIX}{name}" for name in row.needs),
        cumulative=frozenset(f"{_PREFIX}{name}" for name in row.cumulative),
        interval=row.interval,
        hides_nan=row.hides_nan,
        redrawn=row.redrawn,
        open_end=row.open_end,
        by_name=tuple(
            (named.key(name), value) for name, value in values.items() if row.named and value
        ),
    )


@cache
def _names() -> dict[str, str]:
    """Return every metric of training by the name that a group has for it."""
    return {
        name.removeprefix(_PREFIX).replace(".", "_"): name
        for name, metric in metrics.catalogue().items()
        if name.startswith(_PREFIX) and metric.cadence == "step"
    }


def value_of(part: str, spec: str) -> LineValue:
    """Read "METRIC [UNIT] [ATTRIBUTE=VALUE ...]"."""
    name, *rest = spec.split()
    metric = _names().get(name)
    if metric is None:
        raise FormatError(
            f"group {part}: {name} is not a metric of training; there are {', '.join(_names())}"
        )
    units = [word for word in rest if "=" not in word]
    pairs = tuple(sorted(tuple(word.split("=", 1)) for word in rest if "=" in word))
    unit = units[0] if units else ""
    of_metric = metrics.catalogue()[metric].unit
    if unit == numbers.PER_SECOND and of_metric == "s":
        return LineValue(metric, 1.0, inverse=True, attributes=_attributes(pairs), unit=of_metric)
    factor = numbers.factor(of_metric, unit)
    if factor is None:
        raise FormatError(
            f"group {part}: {unit} is not a unit of {metric}, which is in {of_metric}"
        )
    return LineValue(metric, factor, attributes=_attributes(pairs), unit=of_metric)


def _attributes(pairs: Sequence[tuple[str, ...]]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((pair[0], pair[1]) for pair in pairs)
