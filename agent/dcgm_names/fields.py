"""Which of dcgm-exporter's metrics are shown, and from which samples each is made."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal

Generation = Literal["old", "new"]
Names = Literal["old", "new", "both"]
Observed = Literal["", "xid", "xids", "clock", "clocks"]

_WHOLE = frozenset({"MHz", "MiB", "mJ", "ns", "%", "KB/s", "MB/s of 1000 KiB", "Cel", "Hz", "By"})
"""Units that DCGM counts in whole numbers."""
_OF_LINKS = "L{link}"
_NOT_MADE = frozenset(
    {
        "DCGM_FI_DEV_FABRIC_HEALTH_MASK",  # the bits that say that all is well are not kept
        "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY",  # nor is a 1 for healthy
        "DCGM_EXP_GPU_HEALTH_STATUS",  # the results of DCGM's own watches; ours is hw.status
        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",  # the vocabulary's crc is of flits, and
        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L{link}",  # a zero here would be a lie
    }
)


@dataclass(frozen=True, slots=True)
class DcgmField:
    """One metric of dcgm-exporter's.

    The exported value is the vocabulary's divided by `factor`. `derived` holds metrics and the
    operator between them instead of `metric`. With `codes` the value is the sum of the numbers of
    those values of the attribute `code_of` that are on. `observed` names what is counted over
    readings instead of being read (see observations.py).
    """

    name: str
    generations: frozenset[Generation]
    kind: str
    help: str
    factor: float
    whole: bool
    metric: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict)
    derived: Sequence[str] = ()
    code_of: str = ""
    codes: Mapping[str, float] = field(default_factory=dict)
    observed: Observed = ""
    link: int | None = None
    last_fault: bool = False

    def exported(self, value: float) -> str:
        """Return a value in the vocabulary's unit in this field's unit, as text."""
        value = value / self.factor
        if self.whole:
            value = round(value)
        if value == int(value):
            return str(int(value))
        return repr(round(value, 6))

    @property
    def head(self) -> str:
        """Return the lines HELP and TYPE."""
        return f"# HELP {self.name} {self.help}.\n# TYPE {self.name} {self.kind}\n"


def fields(names: Names, *, links: int = 0) -> list[DcgmField]:
    """Return the fields to show, each name once; `links` adds those of so many NVLinks."""
    wanted: tuple[Generation, ...] = ("old", "new") if names == "both" else (names,)
    found: dict[str, DcgmField] = {}
    for row in _rows():
        if row["name"] not in _NOT_MADE and _made(row):
            for one in _of(row, wanted, links):
                before = found.get(one.name)
                found[one.name] = (
                    replace(before, generations=before.generations | one.generations)
                    if before
                    else one
                )
    return list(found.values())


def _rows() -> list[dict[str, Any]]:
    package = resources.files("rankscope.formats.exporters")
    text = package.joinpath("dcgm.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["row"]
    return rows


def _made(row: Mapping[str, Any]) -> bool:
    """Return whether we have what a row shows.

    A fallback is another reading of a metric that a better row shows already.
    """
    if _observed(row) or _operands(row):
        return True
    return "metric" in row and "ignore" not in row and not row.get("fallback", False)


def _of(row: Mapping[str, Any], wanted: Sequence[Generation], links: int) -> Iterator[DcgmField]:
    for generation in wanted:
        prefix = "new_" if generation == "new" else ""
        name = str(row["name"] if generation == "old" else row.get("new", ""))
        if not name:
            continue
        code_of, codes = _codes(row)
        for link in range(links) if _OF_LINKS in name else (None,):
            yield DcgmField(
                name=name.replace("{link}", str(link)),
                generations=frozenset({generation}),
                kind=row[f"{prefix}type"],
                help=row["help"],
                factor=row[f"{prefix}factor"],
                whole=row[f"{prefix}unit"] in _WHOLE,
                metric=row.get("metric", ""),
                fixed={
                    key: value
                    for key, value in row.get("attributes", {}).items()
                    if (key, value) != ("link", "all")
                },
                derived=_operands(row),
                code_of=code_of,
                codes=codes,
                observed=_observed(row),
                link=link,
                last_fault=row.get("fault") == "last",
            )


def _operands(row: Mapping[str, Any]) -> Sequence[str]:
    """Return "a - b - c" or "a / b" of a row taken apart, nothing where it says it in words."""
    parts = str(row.get("derived", "")).split()
    metrics, operators = parts[::2], set(parts[1::2])
    if operators in ({"-"}, {"/"}) and all(part.startswith("hw.") for part in metrics):
        return tuple(parts)
    return ()


def _codes(row: Mapping[str, Any]) -> tuple[str, Mapping[str, float]]:
    if "bits" in row:
        return "reason", {reason: float(int(bit, 16)) for bit, reason in row["bits"].items()}
    if "choices" in row:
        return str(row["choice"]), {name: float(number) for number, name in row["choices"].items()}
    return "", {}


def _observed(row: Mapping[str, Any]) -> Observed:
    counter = row["type"] == "counter"
    if "label_values" in row:
        return "clocks" if counter else "clock"
    if row.get("fault") in ("window", "count"):
        return "xids" if counter else "xid"
    return ""
