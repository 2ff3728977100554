"""One fault of a device with all its evidence, from the first report to its clearing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...vocabulary.device_faults import FaultKnowledge, OutsideOpinion

_EVIDENCE = 8
_TEXT = 300


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One report of a fault. `at` is seconds since the epoch; `source` is kmsg, nvml, ..."""

    text: str
    source: str
    at: float


@dataclass(slots=True)
class NodeDeviceFault:
    """A fault that is open, or was cleared. Actions are named as the vendor's catalogue does."""

    hw_id: str
    vendor: str
    code: str
    fault_class: str
    mnemonic: str
    meaning: str
    immediate: str
    investigate: str
    others: tuple[OutsideOpinion, ...]
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
    evidence: list[FaultReport] = field(default_factory=list)

    def add(self, evidence: FaultReport) -> None:
        """Keep a report; of many texts the first ones and the newest, each once a source."""
        short = FaultReport(evidence.text[:_TEXT], evidence.source, evidence.at)
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
        document = asdict(self)
        document["class"] = document.pop("fault_class")
        document["hw.id"] = document.pop("hw_id")
        document["others"] = [
            {"tool": one.tool, "class": one.fault_class, "action": one.action}
            for one in self.others
        ]
        return document


def opened(
    known: FaultKnowledge, *, hw_id: str, code: str, fault_class: str, at: float, boot_id: str
) -> NodeDeviceFault:
    return NodeDeviceFault(
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


def from_document(document: Mapping[str, Any]) -> NodeDeviceFault:
    """Read what `document` wrote; KeyError, TypeError or ValueError where that is not it."""
    row = dict(document)
    row["fault_class"] = row.pop("class")
    row["hw_id"] = row.pop("hw.id")
    row["others"] = tuple(
        OutsideOpinion(str(one["tool"]), str(one["class"]), str(one["action"]))
        for one in row["others"]
    )
    row["evidence"] = [
        FaultReport(str(one["text"]), str(one["source"]), float(one["at"]))
        for one in row["evidence"]
    ]
    fault = NodeDeviceFault(**row)
    for name in ("first_seen", "last_seen"):
        setattr(fault, name, float(getattr(fault, name)))
    fault.count = int(fault.count)
    return fault
