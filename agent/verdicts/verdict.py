"""One verdict: a fault of a device with all its evidence, from the first sight to its clearing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...vocabulary.device_faults import FaultKnowledge, Opinion

_EVIDENCE = 8
_TEXT = 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """One telling of a fault. `at` is seconds since the epoch; `source` is kmsg, nvml, ..."""

    text: str
    source: str
    at: float


@dataclass(slots=True)
class Verdict:
    """A fault that is open, or was cleared. Actions are named as the vendor's catalogue does."""

    hw_id: str
    vendor: str
    code: str
    fault_class: str
    mnemonic: str
    meaning: str
    immediate: str
    investigate: str
    others: tuple[Opinion, ...]
    cleared_by: str
    catalogue_source: str
    first_seen: float
    last_seen: float
    boot_id: str
    count: int = 0
    pid: int | None = None
    status: str = "open"
    cleared_at: float | None = None
    cleared_how: str = ""
    evidence: list[Evidence] = field(default_factory=list)

    def add(self, evidence: Evidence) -> None:
        """Keep a telling; of many texts the first ones and the newest, each once a source."""
        short = Evidence(evidence.text[:_TEXT], evidence.source, evidence.at)
        known = [(one.text, one.source) for one in self.evidence]
        if (short.text, short.source) in known:
            return
        if len(self.evidence) >= _EVIDENCE:
            del self.evidence[_EVIDENCE // 2]
        self.evidence.append(short)

    def clear(self, at: float, how: str) -> None:
        """Close it."""
        self.status, self.cleared_at, self.cleared_how = "cleared", at, how

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it; `class` is `fault_class` there."""
        told = asdict(self)
        told["class"] = told.pop("fault_class")
        told["hw.id"] = told.pop("hw_id")
        told["others"] = [
            {"tool": one.tool, "class": one.fault_class, "action": one.action}
            for one in self.others
        ]
        return told


def opened(
    known: FaultKnowledge, *, hw_id: str, code: str, fault_class: str, at: float, boot_id: str
) -> Verdict:
    """Return a new verdict about a device."""
    return Verdict(
        hw_id=hw_id,
        vendor=known.vendor,
        code=code,
        fault_class=fault_class,
        mnemonic=known.mnemonic,
        meaning=known.meaning,
        immediate=known.immediate,
        investigate=known.investigate,
        others=known.others,
        cleared_by=str(known.cleared_by),
        catalogue_source=known.source,
        first_seen=at,
        last_seen=at,
        boot_id=boot_id,
    )


def from_document(told: Mapping[str, Any]) -> Verdict:
    """Read what `document` wrote; KeyError, TypeError or ValueError where that is not it."""
    row = dict(told)
    row["fault_class"] = row.pop("class")
    row["hw_id"] = row.pop("hw.id")
    row["others"] = tuple(
        Opinion(str(one["tool"]), str(one["class"]), str(one["action"])) for one in row["others"]
    )
    row["evidence"] = [
        Evidence(str(one["text"]), str(one["source"]), float(one["at"])) for one in row["evidence"]
    ]
    verdict = Verdict(**row)
    for name in ("first_seen", "last_seen"):
        setattr(verdict, name, float(getattr(verdict, name)))
    verdict.count = int(verdict.count)
    return verdict
