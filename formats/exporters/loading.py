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
fault: last (the code of the last fault stays), present (codes of what is wrong now), count and
window (how often, by the code in `code_label`, or of the one `code`). code_prefix, code_format: how
a code is spelled.
instance: the value is of a part of the device (MIG instance, die). node: of no device.
info: only its labels are wanted. ignore: why nothing is made of it.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ...vocabulary import metrics
from ...vocabulary.samples import Scalar
from .tables import Identity, Row, Table, Target
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

FAULTS = ("last", "present", "count", "window")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_FILLED = frozenset({"hw.id", "gpu", "device", "port"})
_TARGET_KEYS = frozenset(
    {
        *("metric", "attributes", "labels", "label_values", "flag", "fallback", "parts"),
        *("states", "bits", "choices", "choice", "label_pairs"),
    }
)
_ROW_KEYS = _TARGET_KEYS | {
    *("name", "aliases", "new", "new_aliases", "field", "on", "type", "unit", "factor"),
    *("new_type", "new_unit", "new_factor", "new_percent_above", "absent", "also", "fault"),
    *("code", "code_label", "code_prefix", "code_format", "instance", "node", "info", "only"),
    "ignore",
    *("derived", "unverified", "help"),
}


class TableError(ValueError):
    """A table that cannot be used; the text names file, row and fix."""


def load(vendor: str) -> Table:
    """Return the table of a vendor; KeyError for a vendor of no table."""
    name = f"{VENDORS[vendor]}.toml"
    text = resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
    return _table(name, tomllib.loads(text), None)


@cache
def hosts() -> Table:
    """Return the table of node-exporter, whose rows are of hosts and no vendor's."""
    name = "node.toml"
    text = resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
    content = tomllib.loads(text)
    rows = [row for raw in content["row"] for row in _rows(name, raw, instance=False)]
    return Table("", str(content["exporter"]), rows={row.name: row for row in rows})


def overridden(table: Table, path: Path) -> Table:
    """Return a table with a site's own rows and keys in the place of ours.

    Raises TableError, with file, row and fix, for a file that cannot be used.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TableError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return _table(str(path), content, table)


def _table(file: str, content: Mapping[str, Any], below: Table | None) -> Table:
    vendor = content.get("vendor", below.vendor if below else "")
    if vendor not in VENDORS or (below is not None and vendor != below.vendor):
        wanted = below.vendor if below else ", ".join(VENDORS)
        raise TableError(f"{file}: vendor is {vendor!r}; write {wanted}")
    base = below or Table(vendor=vendor, exporter="")
    rows: dict[str, Row] = dict(base.rows)
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
    return Table(
        vendor=base.vendor,
        exporter=content.get("exporter", base.exporter),
        prefixes=tuple(content.get("name_prefixes", base.prefixes)),
        blanks=frozenset(map(float, content.get("blanks", base.blanks))),
        blank_from=float(content.get("blank_from", base.blank_from)),
        identity=_identity(identity, base.identity),
        rows=rows,
        patterns=tuple(patterns.values()),
    )


def _identity(row: Mapping[str, Any], base: Identity) -> Identity:
    def words(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(row.get(key, default))

    return Identity(
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


def _rows(file: str, raw: Mapping[str, Any], *, instance: bool) -> Iterable[Row]:
    """Yield a row for every spelling: old names with their unit, new names with theirs."""
    name = raw.get("name", "")
    where = f"{file}: row {name or raw}"
    unknown = set(raw) - _ROW_KEYS
    if not name or unknown:
        raise TableError(f"{where}: {', '.join(sorted(unknown)) or 'no name'}; see loading.py")
    if not any(raw.get(key) for key in ("metric", "fault", "ignore", "info")):
        raise TableError(f"{where}: write metric, fault, info, or ignore with the reason")
    if raw.get("fault", "present") not in FAULTS:
        raise TableError(f"{where}: fault is one of {', '.join(FAULTS)}")
    spellings = [("", spelt) for spelt in (name, *raw.get("aliases", ()))]
    if raw.get("new") and raw["new"] != name:
        spellings.append(("new_", raw["new"]))
    spellings += [("new_", spelt) for spelt in raw.get("new_aliases", ())]
    for prefix, spelt in spellings:
        unit = raw.get(f"{prefix}unit", "1")
        yield Row(
            name=spelt,
            targets=tuple(
                _target(where, row, unit, raw.get(f"{prefix}factor"), raw if prefix else {}, spelt)
                for row in (raw, *raw.get("also", ()))
                if row.get("metric") and not raw.get("ignore")
            ),
            absent=frozenset(map(float, raw.get("absent", ()))),
            instance=bool(raw.get("instance", instance)),
            node=bool(raw.get("node")),
            fault=raw.get("fault", ""),
            code=raw.get("code", ""),
            code_label=raw.get("code_label", ""),
            code_prefix=raw.get("code_prefix", ""),
            code_format=raw.get("code_format", ""),
            only=dict(raw.get("only", {})),
            ignore=raw.get("ignore", ""),
        )


def _target(
    where: str,
    row: Mapping[str, Any],
    unit: str,
    factor: float | None,
    new: Mapping[str, Any],
    spelt: str,
) -> Target:
    metric = metrics.catalogue().get(row["metric"])
    if metric is None:
        raise TableError(f"{where}: the vocabulary has no metric {row['metric']}")
    if unknown := set(row) - _ROW_KEYS:
        raise TableError(f"{where}: no key {', '.join(sorted(unknown))}; see loading.py")
    plain = not any(row.get(key) for key in ("states", "bits", "choices", "flag"))
    if unit not in UNITS:
        raise TableError(f"{where}: no unit {unit}; there are {', '.join(UNITS)}")
    base, given = UNITS[unit]
    counted = metric.unit.startswith("{") and base == "1"
    if plain and base != metric.unit and not counted:
        raise TableError(f"{where}: {unit} is no {metric.unit}, the unit of {metric.name}")
    words = {
        label: (entry["attribute"], dict(entry["values"]))
        for label, entry in row.get("label_values", {}).items()
    }
    known = {*metric.attributes, *metric.optional}
    numbers = {number: number for number in _PLACEHOLDER.findall(spelt) if number in known}
    target = Target(
        metric=metric.name,
        unit=unit,
        factor=float(given if factor is None else factor),
        attributes=dict(row.get("attributes", {})),
        labels={**numbers, **row.get("labels", {})},
        words=words,
        pairs=row.get("label_pairs", {}),
        flag=bool(row.get("flag")),
        fallback=bool(row.get("fallback")),
        parts=int(row.get("parts", 0)),
        states={float(key): value for key, value in row.get("states", {}).items()},
        bits={int(key, 0): value for key, value in row.get("bits", {}).items()},
        choices={float(key): value for key, value in row.get("choices", {}).items()},
        choice=row.get("choice", ""),
        percent_above=new.get("new_percent_above"),
    )
    _check(where, metric, target)
    return target


def _check(where: str, metric: metrics.Metric, target: Target) -> None:
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
