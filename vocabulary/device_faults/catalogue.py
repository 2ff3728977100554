"""The tables of fault codes, read from the TOML files beside this module.

A table has `version`, `source`, `vendor` and rows `[[fault]]`; a row's `codes` may be a code, a
range of numbers ("23001-23008") or a list of both, and `*` is the vendor's default. Two tables may
know the same code (a site's overrides do): the later one wins.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from .. import tables
from .knowledge import CLASSES, FaultClass, FaultKnowledge, FaultRecovery, OutsideOpinion, recovery

TABLES = ("xid", "sxid", "driver", "dcgm_fr", "vendor_codes")
_DEFAULT = "*"
_WIDEST = 10_000
"""A wider range in a table is a slip of the pen."""
_CLEARED_BY: Mapping[FaultClass, str] = {
    "fatal": "gpu_reset",
    "degraded": "gpu_reset",
    "warning": "quiet:60",
    "info": "quiet:10",
    "application": "quiet:10",
    "unknown": "quiet:60",
}
KEYS = frozenset(
    {
        "vendor",
        "codes",
        "mnemonic",
        "meaning",
        "class",
        "immediate",
        "investigate",
        "cleared_by",
        "line_decides",
        "part_of",
        "others",
    }
)

_NOWHERE = FaultKnowledge(
    vendor="",
    code="",
    mnemonic="",
    meaning="A code that no table here knows: see the vendor's own list",
    fault_class="unknown",
    immediate="",
    investigate="CONTACT_SUPPORT",
    cleared_by=recovery(_CLEARED_BY["unknown"]),
    source="",
    known=False,
)


@dataclass(frozen=True, slots=True)
class DeviceFaultCatalogue:
    """Every known code by vendor, and each vendor's default."""

    rows: Mapping[tuple[str, str], FaultKnowledge]
    version: str
    """The versions of all tables, and of a site's overrides, as one text."""

    def find(self, vendor: str, code: str) -> FaultKnowledge:
        """Return what is known of a code; for one that no table has, its family's default.

        Families are the part before the first dot: "sxid.12028" falls back to "sxid.*", then to
        the vendor's "*".
        """
        found = self.rows.get((vendor, code)) or self.rows.get((vendor, code.lower()))
        if found is not None:
            return found
        family, dot, _ = code.partition(".")
        general = self.rows.get((vendor, f"{family}.{_DEFAULT}")) if dot else None
        general = general or self.rows.get((vendor, _DEFAULT)) or _NOWHERE
        return replace(general, vendor=vendor, code=code, known=False)

    def over(self, rows: Sequence[FaultKnowledge], version: str) -> "DeviceFaultCatalogue":
        """Return a catalogue in which these rows win."""
        merged = {**self.rows, **{(row.vendor, row.code): row for row in rows}}
        return DeviceFaultCatalogue(rows=merged, version=f"{self.version} {version}")


@dataclass(frozen=True, slots=True)
class CodeTable:
    """One file: its version and source, the vendor of rows that name none, and its rows."""

    version: str
    source: str
    vendor: str
    fault: tuple[Mapping[str, Any], ...]


@cache
def catalogue() -> DeviceFaultCatalogue:
    """Return the catalogue that this version ships."""
    rows: dict[tuple[str, str], FaultKnowledge] = {}
    versions = []
    mistakes: list[str] = []
    for name in TABLES:
        table = load(name)
        versions.append(f"{name}={table.version}")
        for number, row in enumerate(table.fault, 1):
            try:
                for one in knowledge(row, vendor=table.vendor, source=table.source):
                    rows[one.vendor, one.code] = one
            except ValueError as error:
                file = tables.shown(__package__ or "", f"{name}.toml")
                mistakes.append(f"{file}, fault {row.get('codes', number)}: {error}")
    tables.stop(mistakes)
    return DeviceFaultCatalogue(rows=rows, version=" ".join(versions))


def load(name: str) -> CodeTable:
    """Return one table as it stands in its file; raises TableError."""
    return tables.file(CodeTable, __package__ or "", f"{name}.toml")


def knowledge(row: Mapping[str, Any], *, vendor: str, source: str) -> Iterator[FaultKnowledge]:
    """Yield what a row says of each of its codes; a bad row is a ValueError that says why."""
    unknown = set(row) - KEYS
    if unknown:
        raise ValueError(
            f"no key {', '.join(sorted(unknown))}: there are {', '.join(sorted(KEYS))}"
        )
    if row.get("class") not in CLASSES:
        raise ValueError(f"class {row.get('class')!r}: write one of {', '.join(CLASSES)}")
    for key in ("vendor", "mnemonic", "meaning", "immediate", "investigate", "cleared_by"):
        if not isinstance(row.get(key, ""), str):
            raise ValueError(f"{key} {row[key]!r}: write a text")  # noqa: TRY004  one kind of error
    fault_class = cast("FaultClass", row["class"])
    found = FaultKnowledge(
        vendor=str(row.get("vendor", vendor)),
        code="",
        mnemonic=str(row.get("mnemonic", "")),
        meaning=str(row.get("meaning", "")),
        fault_class=fault_class,
        immediate=str(row.get("immediate", "")),
        investigate=str(row.get("investigate", "")),
        cleared_by=_recovery(row, fault_class),
        source=source,
        others=tuple(_opinions(row.get("others", ()))),
        line_decides=bool(row.get("line_decides", False)),
        part_of=tuple(codes(row["part_of"])) if row.get("part_of") else (),
    )
    for code in codes(row.get("codes", "")):
        yield replace(found, code=code)


def codes(written: object) -> Iterator[str]:
    """Yield every code of "79", "sxid.23001-23008" or a list of such texts."""
    texts = cast("list[object]", written) if isinstance(written, list) else [written]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"codes {text!r}: write a text, a range or a list of texts")
        head, dash, last = text.partition("-")
        prefix = head.rstrip("0123456789")
        first = head[len(prefix) :]
        if not (dash and first and last.isdigit()):
            yield text
        elif not 0 <= int(last) - int(first) < _WIDEST:
            raise ValueError(f"codes {text!r}: the range runs backwards or is too wide")
        else:
            for number in range(int(first), int(last) + 1):
                yield f"{prefix}{number}"


def _recovery(row: Mapping[str, Any], fault_class: FaultClass) -> FaultRecovery:
    return recovery(str(row.get("cleared_by", _CLEARED_BY[fault_class])))


def _opinions(written: object) -> Iterator[OutsideOpinion]:
    """Read others as {gpud = "Fatal, reboot", ...}: a tool's class, then what it would do."""
    if not written:
        return
    if not isinstance(written, dict):
        raise ValueError(f'others {written!r}: write {{ tool = "class, action" }}')  # noqa: TRY004
    for tool, opinion in cast("dict[str, object]", written).items():
        grade, _, action = str(opinion).partition(",")
        yield OutsideOpinion(tool, grade.strip(), action.strip())
