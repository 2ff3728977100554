"""A fault that is open, with who reported it lately and what ends it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...vocabulary.device_faults import CLASSES, DeviceFaultCatalogue, FaultKnowledge
from ...vocabulary.samples import Event
from .counts import FaultOccurrences
from .fault import NodeDeviceFault

_AGAIN_SECONDS = 2.0
"""A reading this much younger than a loss was taken after it."""
POLLING_SOURCES = frozenset({"nvml", "pci"})
"""Sources that look at a device: they find what is wrong with it again at each start."""


@dataclass(slots=True)
class OpenFault:
    """An open fault; `restored_until` is later than -inf when it was open as the agent started."""

    fault: NodeDeviceFault
    occurrences: FaultOccurrences = field(default_factory=FaultOccurrences)
    restored_until: float = -math.inf

    @property
    def key(self) -> tuple[str, str]:
        return (self.fault.hw_id, self.fault.code)

    @property
    def restored(self) -> bool:
        """Return whether it was open when the agent started."""
        return self.restored_until > -math.inf

    def is_known(self, code: str, source: str, text: str) -> bool:
        """Return whether a report is of a state that was known before the agent started anew.

        An XID happens; a lost device, a row to be remapped or a number of errors is found again by
        every agent that starts. What a number of errors means is in its text.
        """
        if not self.restored or source not in POLLING_SOURCES or code.isdecimal():
            return False
        reported = ((one.text, one.source) for one in self.fault.evidence)
        return code.startswith(("nvml.", "pci.")) or (text, source) in reported

    def quiet_for(self, catalogue: DeviceFaultCatalogue, now: float) -> str:
        """Return why it is over when its code is over after a quiet time, else ""."""
        rule = catalogue.find(self.fault.vendor, self.fault.code).cleared_by
        if rule.kind == "quiet" and now - self.fault.last_seen >= rule.seconds:
            return f"{rule.seconds / 60:g} quiet minutes"
        return ""

    def answered_by(self, at: float, *, native: bool) -> bool:
        """Return whether a reading of the device at a time shows that it answers again.

        An exporter (not `native`) shows what it last had while the driver hangs: it is no proof
        where we saw the fault ourselves.
        """
        seen_by_us = any(one.source in POLLING_SOURCES for one in self.fault.evidence)
        if self.fault.cleared_by != "answer" or (seen_by_us and not native):
            return False
        return at > self.fault.last_seen + _AGAIN_SECONDS

    def amend(self, known: FaultKnowledge, event: Event) -> bool:
        """Take what this report adds to the ones before; return whether that is new."""
        fault = self.fault
        action = str(event.attributes.get("action", ""))
        asks = known.line_decides or not known.immediate
        other = bool(action) and asks and action != fault.immediate
        if other:
            fault.immediate = action
        reported = reported_class(known, event)
        graver = reported != "" and _graver(reported, fault.fault_class)
        if graver:
            fault.fault_class = reported
        return other or graver


def reported_class(known: FaultKnowledge, event: Event) -> str:
    """Return the class that the report itself names, where the catalogue lets it; else ""."""
    named = str(event.attributes.get("class", ""))
    return named if named in CLASSES and (known.line_decides or not known.known) else ""


def _graver(one: str, other: str) -> bool:
    ordered: Sequence[str] = CLASSES
    return ordered.index(one) < ordered.index(other)
