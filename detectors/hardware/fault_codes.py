"""Fault codes that the job's devices report, and the fault that each of them names."""

import math
import re
from collections.abc import Mapping, Sequence

from ...vocabulary.entities import Entity, gpu
from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report_event
from ..tenants import own_events
from ..window import JobWindow

HARMLESS = ("info", "warning", "application")
"""Classes of codes that accuse no device: an application's errors, news of no consequence.

A code without a class counts: the sender could not tell.
"""

APPLICATION = frozenset({
    "8", "11", "13", "25", "31", "32", "43", "45", "68", "69", "amdgpu.page_fault",
    "gaudi.cs_timeout",
})  # fmt: skip
"""Codes that programs bring about: they accuse no device where the sender named no class either."""

LOST = frozenset({
    "79", "167", "nvml.lost", "pci.gone", "pcie.fatal", "amdgpu.lost", "amdgpu.init_failed",
    "gaudi.lost", "npu.lost",
})  # fmt: skip
FIRMWARE = frozenset({
    "46", "62", "109", "119", "120", "143", "158", "rm.gsp_timeout", "rm.init_failed",
    "xe.hang", "i915.hang",
    "amdgpu.ring_timeout", "amdgpu.hang", "amdgpu.reset", "amdgpu.reset_failed", "gaudi.heartbeat",
    "gaudi.reset", "npu.heartbeat",
})  # fmt: skip
MEMORY = frozenset({
    "48", "94", "95", "140", "171", "172", "ecc.uncorrectable", "amdgpu.uncorrectable",
    "amdgpu.poison", "gaudi.uncorrectable", "npu.uncorrectable",
})  # fmt: skip
NVLINK = frozenset({"74", "136", *map(str, range(144, 151)), "155", "173", "amdgpu.xgmi"})
KINDS = {
    **dict.fromkeys(LOST, "gpu.lost"),
    **dict.fromkeys(FIRMWARE, "gpu.firmware_hung"),
    **dict.fromkeys(MEMORY, "gpu.memory_error"),
    **dict.fromkeys(NVLINK, "gpu.nvlink_down"),
    "63": "gpu.row_remap_pending",
    "row_remap.pending": "gpu.row_remap_pending",
    "64": "gpu.row_remap_failed",
    "row_remap.failed": "gpu.row_remap_failed",
    "amdgpu.bad_pages": "gpu.row_remap_failed",
    "nvml.hung": "gpu.call_hung",
    "pcie.nonfatal": "gpu.pcie_error",
}
"""What codes say beyond that something is wrong (NVIDIA's catalogue of XIDs; vocabulary/
device_faults/xid.toml and driver.toml), and of what drivers of other vendors log (vendor_codes.toml
there). Other vendors' codes are fault events and no more."""

_PREFIX = re.compile(r"^\s*xid[\s:#=]*(?=\d)", re.IGNORECASE)
"""What some senders write before a number: "XID 119"."""

_RECOVERY = "154"
"""The XID by which the driver says what has to be done about a device."""

_SCORES = {"gpu.row_remap_pending": 1.0, "gpu.row_remap_failed": 2.0}

DRIVERS_WORD = "gpu.operational_event"
FOLLOWED = 1.0
"""The highest score of a code that the driver says another error brought about."""

_WORDS = {
    "primary": "the driver marks it as the primary error",
    "propagated": "the driver marks it as propagated from another error",
}


class FaultCodesDetector(Detector):
    """Report `gpu.fault` events of the job's devices, each once a device and code.

    Events that the agent classed as an application's or as harmless are left out, and those of the
    node's earlier tenant (see tenants.py). A code of the table above also gives the finding of its
    own fault. They are symptoms without waiting for the job: a device that fell off the bus, whose
    firmware hangs or whose memory returned wrong data ends the process that uses it. Where the
    driver says of a code that it was propagated from another error (GPU Operational Events, R620),
    it counts less than one that it calls primary.

    Parameters
    ----------
    unplaced : devices count that no rank is known to use, too. Off in a live collector, where they
        are another job's; the logs that a dead job left are of its own hosts.

    Examples
    --------
    The device of rank 2 falls off the bus.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> host = TelemetryResource("host-1", "example")
    >>> xid = Event("gpu.fault", START + 31, {"rank": 2, "code": "79"}, host)
    >>> window = sketch(np.full((4, 60), 0.8), events=(xid,))
    >>> for finding in FaultCodesDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.onset[0] - START)
    gpu.fault_event gpu GPU-2 on host-1 31.0
    gpu.lost gpu GPU-2 on host-1 31.0

    Fails where codes come neither from the kernel log nor from the driver's events, and cannot see
    that an application's code (13, 31) is a broken device after all: the same unit again and again.

    References: NVIDIA XID catalogue.
    """

    name = "fault_codes"
    kinds = ("gpu.fault_event", *sorted(set(KINDS.values())))

    def __init__(self, *, unplaced: bool = False) -> None:
        self.unplaced = unplaced

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device and code, and the fault that the code names."""
        findings: dict[tuple[str, str, str], Finding] = {}
        roles = self._roles(window)
        for event in own_events(window):
            if event.name != "gpu.fault" or not _accuses(event):
                continue
            for finding in self._findings(window, event, roles):
                key = (finding.kind, finding.entity.id, str(finding.observed))
                findings.setdefault(key, finding)
        return list(findings.values())

    def _findings(
        self, window: JobWindow, event: Event, roles: Mapping[tuple[str, str], str]
    ) -> list[Finding]:
        entity = self._device(window, event)
        if entity is None:
            return []
        code = str(event.attributes.get("code", ""))
        role = roles.get((entity.id, code_of(event)), "")
        most = FOLLOWED if role == "propagated" else math.inf
        word = f"; {_WORDS[role]}" if role in _WORDS else ""
        kind = _kind(event)
        kinds = ["gpu.fault_event", *([kind] if kind else [])]
        return [
            report_event(
                window,
                self.name,
                kind,
                entity,
                event,
                score=min(_SCORES.get(kind, 3.0), most),
                observed=code,
                text=f"{entity} reported {code} {event.attributes.get('text', '')}".strip() + word,
            )
            for kind in kinds
        ]

    def _roles(self, window: JobWindow) -> dict[tuple[str, str], str]:
        """Return what the driver says of the codes of devices, by device and code.

        A code that it calls primary once is primary, whatever follows.
        """
        roles: dict[tuple[str, str], str] = {}
        for event in own_events(window):
            entity = self._device(window, event) if event.name == DRIVERS_WORD else None
            if entity is None:
                continue
            role = str(event.attributes.get("role", ""))
            key = entity.id, code_of(event)
            if role in _WORDS and roles.get(key) != "primary":
                roles[key] = role
        return roles

    def _device(self, window: JobWindow, event: Event) -> Entity | None:
        row = window.row_of_event(event)
        device = window.gpu_entity(row) if row is not None else None
        if device is None and self.unplaced:
            ranks = () if row is None else (int(window.ranks[row]),)
            return gpu(str(event.attributes.get("hw.id", "")), event.resource.host or None, ranks)
        return device


def code_of(event: Event) -> str:
    """Return the code of a `gpu.fault`, a number without the word before it."""
    return _PREFIX.sub("", str(event.attributes.get("code", "")))


def _kind(event: Event) -> str:
    """Return the kind of finding that a code gives besides, "" none."""
    code = code_of(event)
    if code.startswith("sxid.") and event.attributes.get("class") == "fatal":
        return "gpu.nvlink_down"
    return KINDS.get(code, "")


def _accuses(event: Event) -> bool:
    code, grade = code_of(event), event.attributes.get("class")
    if code in ("63", "row_remap.pending"):
        return True  # nothing has failed yet: the finding says so by its score
    if code == _RECOVERY and event.attributes.get("action"):
        return event.attributes["action"] != "none"
    return grade not in HARMLESS and (grade is not None or code not in APPLICATION)
