"""Reading the tables of vendors: checked against the vocabulary, and overridden by a site.

A `[[row]]` is one metric of an exporter. Its keys:

name, aliases, new, new_aliases: spellings; `{link}` stands for a number, which becomes a label.
unit, factor (and new_unit, new_factor for `new`): value * factor is in the vocabulary's unit.
metric, attributes: the vocabulary's metric, and attributes that are always the same.
labels: exporter's label = contract's attribute; label_values: the same with words translated;
label_pairs: a label's value stands for several attributes. only: labels that must have a value.
absent: values that mean "not supported". flag: any value above 0 is 1.
fallback: used only where no other row has the same series. parts: rows of one series are added
up, and wait for one another. also: more metrics made of the same value.
states, bits, choices: values that stand for a state, a set of reasons, one of several words.
A key of bits is a bit (`0x4`), or a value and the mask of the bits that make it (`0x200/0xf00`).
fault: last (the code of the last fault stays), present (codes of what is wrong now), count and
window (how often, by the code in `code_label`, or of the one `code`). code_prefix, code_format: how
a code is spelled.
instance: the value is of a part of the device (MIG instance, die). node: of no device.
info: only its labels are wanted. ignore: why nothing is made of it.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ...vocabulary import metrics, tables
from ...vocabulary.samples import Scalar
from ...vocabulary.tables import TableError
from .tables import ContractTarget, DeviceLabels, ExporterMetric, ExporterTable
from .units import UNITS

VENDORS: Mapping[str, str] = {
    "nvidia": "dcgm",
    "ascend": "ascend",
    "cambricon": "cambricon",
    "amd": "amd",
    "hygon": "hygon",
    "metax": "metax",
    "kunlun": "kunlun",
}
"""The table of each vendor."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_FILLED = frozenset({"hw.id", "gpu", "device", "port"})


Spelling = tuple[str, float | None, float | None]
"""Under one name: the unit, its factor, and above which value it is a percentage."""


@dataclass(frozen=True, slots=True)
class LabelWords:
    """What the words of a label are in the vocabulary's words, and of which attribute."""

    attribute: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """The keys of a row that make a metric of its value."""

    metric: str = ""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    label_values: Mapping[str, LabelWords] = field(default_factory=dict)
    label_pairs: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    flag: bool = False
    fallback: bool = False
    parts: int = 0
    states: Mapping[str, str] = field(default_factory=dict)
    bits: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    choice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow(TargetRow):
    """The keys of a row."""

    name: str
    aliases: tuple[str, ...] = ()
    new: str = ""
    new_aliases: tuple[str, ...] = ()
    unit: str = "1"
    factor: float | None = None
    type: str = ""
    help: str = ""
    new_unit: str = "1"
    new_type: str = ""
    new_factor: float | None = None
    new_percent_above: float | None = None
    absent: tuple[float, ...] = ()
    also: tuple[TargetRow, ...] = ()
    fault: Literal["", "last", "present", "count", "window"] = ""
    code: str = ""
    code_label: str = ""
    code_prefix: str = ""
    code_format: str = ""
    instance: bool | None = None
    node: bool = False
    info: bool = False
    only: Mapping[str, str] = field(default_factory=dict)
    ignore: str = ""
    field_id: int = field(default=0, metadata={"key": "field"})
    on: bool = False
    derived: str = ""
    unverified: bool = False


def load(vendor: str) -> ExporterTable:
    """Return the table of a vendor; KeyError for a vendor of no table."""
    package, name = __package__ or "", f"{VENDORS[vendor]}.toml"
    file = tables.shown(package, name)
    return _table(file, tables.parsed(tables.text(package, name), file), None)


@cache
def hosts() -> ExporterTable:
    """Return the table of node-exporter, whose rows are of hosts and no vendor's."""
    package, name = __package__ or "", "node.toml"
    file = tables.shown(package, name)
    content = tables.parsed(tables.text(package, name), file)
    rows = [row for raw in content["row"] for row in _rows(file, raw, instance=False)]
    return ExporterTable("", str(content["exporter"]), rows={row.name: row for row in rows})


def overridden(table: ExporterTable, path: Path) -> ExporterTable:
    """Return a table with a site's own rows and keys in the place of ours.

    Raises TableError, with file, row and fix, for a file that cannot be used.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TableError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return _table(str(path), content, table)


def _table(file: str, content: Mapping[str, Any], below: ExporterTable | None) -> ExporterTable:
    vendor = content.get("vendor", below.vendor if below else "")
    if vendor not in VENDORS or (below is not None and vendor != below.vendor):
        wanted = below.vendor if below else ", ".join(VENDORS)
        raise TableError(f"{file}: vendor is {vendor!r}; write {wanted}")
    base = below or ExporterTable(vendor=vendor, exporter="")
    rows: dict[str, ExporterMetric] = dict(base.rows)
    patterns = {pattern.pattern: (pattern, row) for pattern, row in base.patterns}
    identity = content.get("identity", {})
    whole = bool(identity.get("instance_rows"))
    for raw in content.get("row", ()):
        for row in _rows(file, raw, instance=whole):
            if _PLACEHOLDER.search(row.name):
                pattern = _pattern(row.name)
                patterns[pattern.pattern] = (pattern, row)
            else:
                rows[row.name] = row
    return ExporterTable(
        vendor=base.vendor,
        exporter=content.get("exporter", base.exporter),
        prefixes=tuple(content.get("name_prefixes", base.prefixes)),
        blanks=frozenset(map(float, content.get("blanks", base.blanks))),
        blank_from=float(content.get("blank_from", base.blank_from)),
        identity=_identity(identity, base.identity),
        rows=rows,
        patterns=tuple(patterns.values()),
    )


def _identity(row: Mapping[str, Any], base: DeviceLabels) -> DeviceLabels:
    def words(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(row.get(key, default))

    return DeviceLabels(
        id=words("id", base.id),
        index=words("index", base.index),
        instance=words("instance", base.instance),
        first_instance=row.get("first_instance", base.first_instance),
        partition=words("partition", base.partition),
        port=words("port", base.port),
        device=row.get("device", base.device),
        info={**base.info, **row.get("info", {})},
        holder={**base.holder, **row.get("holder", {})},
    )


def _rows(file: str, raw: Mapping[str, Any], *, instance: bool) -> Iterable[ExporterMetric]:
    """Yield a row for every spelling: old names with their unit, new names with theirs."""
    where = f"{file}: row {raw.get('name') or raw}"
    row = tables.row(MetricRow, raw, where)
    if not (row.metric or row.fault or row.ignore or row.info):
        raise TableError(f"{where}: write metric, fault, info, or ignore with the reason")
    old: Spelling = (row.unit, row.factor, None)
    new: Spelling = (row.new_unit, row.new_factor, row.new_percent_above)
    spellings: list[tuple[str, Spelling]] = [(spelt, old) for spelt in (row.name, *row.aliases)]
    if row.new and row.new != row.name:
        spellings.append((row.new, new))
    spellings += [(spelt, new) for spelt in row.new_aliases]
    for spelt, (unit, factor, above) in spellings:
        yield ExporterMetric(
            name=spelt,
            targets=tuple(
                _target(where, target, unit, factor, above, spelt)
                for target in (row, *row.also)
                if target.metric and not row.ignore
            ),
            absent=frozenset(row.absent),
            instance=instance if row.instance is None else row.instance,
            node=row.node,
            fault=row.fault,
            code=row.code,
            code_label=row.code_label,
            code_prefix=row.code_prefix,
            code_format=row.code_format,
            only=row.only,
            ignore=row.ignore,
        )


def _target(
    where: str,
    row: TargetRow,
    unit: str,
    factor: float | None,
    percent_above: float | None,
    spelt: str,
) -> ContractTarget:
    metric = metrics.catalogue().get(row.metric)
    if metric is None:
        raise TableError(f"{where}: the vocabulary has no metric {row.metric}")
    plain = not (row.states or row.bits or row.choices or row.flag)
    if unit not in UNITS:
        raise TableError(f"{where}: no unit {unit}; there are {', '.join(UNITS)}")
    base, given = UNITS[unit]
    counted = metric.unit.startswith("{") and base == "1"
    if plain and base != metric.unit and not counted:
        raise TableError(f"{where}: {unit} is no {metric.unit}, the unit of {metric.name}")
    words = {label: (entry.attribute, entry.values) for label, entry in row.label_values.items()}
    known = {*metric.attributes, *metric.optional}
    numbers = {number: number for number in _PLACEHOLDER.findall(spelt) if number in known}
    target = ContractTarget(
        metric=metric.name,
        unit=unit,
        factor=float(given if factor is None else factor),
        attributes=row.attributes,
        labels={**numbers, **row.labels},
        words=words,
        pairs=row.label_pairs,
        flag=row.flag,
        fallback=row.fallback,
        parts=row.parts,
        states={float(key): value for key, value in row.states.items()},
        bits={_masked(where, key): value for key, value in row.bits.items()},
        choices={float(key): value for key, value in row.choices.items()},
        choice=row.choice,
        percent_above=percent_above,
    )
    _check(where, metric, target)
    return target


def _masked(where: str, key: str) -> tuple[int, int]:
    """Return the value and the mask of a key of `bits`."""
    value, _, mask = key.partition("/")
    try:
        return int(value, 0), int(mask or value, 0)
    except ValueError:
        raise TableError(f"{where}: {key!r} is no bit; write 0x4, or 0x200/0xf00") from None


def _check(where: str, metric: metrics.ContractMetric, target: ContractTarget) -> None:
    """Hold attributes and their closed values to the vocabulary."""
    given = {
        *target.attributes,
        *target.labels.values(),
        *(name for name, _ in target.words.values()),
    }
    paired = [pairs for known in target.pairs.values() for pairs in known.values()]
    given |= {name for pairs in paired for name in pairs}
    given |= {"hw.state"} if target.states else set()
    given |= {"reason"} if target.bits else set()
    given |= {target.choice} if target.choice else set()
    foreign = given - {*metric.attributes, *metric.optional}
    missing = set(metric.attributes) - given - _FILLED
    if foreign or missing:
        raise TableError(
            f"{where}: {metric.name} has no attribute {', '.join(sorted(foreign))}"
            if foreign
            else f"{where}: {metric.name} needs {', '.join(sorted(missing))}"
        )
    values: list[tuple[str, Scalar]] = list(target.attributes.items())
    values += [pair for pairs in paired for pair in pairs.items()]
    values += [("hw.state", state) for state in target.states.values()]
    values += [("reason", reason) for reason in target.bits.values()]
    values += [(target.choice, choice) for choice in target.choices.values()]
    values += [(name, word) for name, known in target.words.values() for word in known.values()]
    for name, value in values:
        if name in metric.values and value not in metric.values[name]:
            raise TableError(
                f"{where}: {name} of {metric.name} is never {value}; "
                f"it is one of {', '.join(metric.values[name])}"
            )


def _pattern(name: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(name)
    text = "".join(
        re.escape(part) if at % 2 == 0 else f"(?P<{part}>[0-9]+)" for at, part in enumerate(parts)
    )
    return re.compile(text)
