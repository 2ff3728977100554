"""A GPU Operational Event as an event of ours: the driver's own word on what caused an error."""

from collections.abc import Mapping
from typing import Any

from ...vocabulary.samples import Event, Scalar
from ..devices import KnownDevice

_PROPAGATED, _PRIMARY, _UNCONTAINED = 1 << 2, 1 << 5, 1 << 0
"""Bits of the attributes (nvml.h, NVML_OPERATIONAL_EVENT_ATTR_*)."""
_SEVERITIES = {10: "informational", 20: "corrected", 30: "recoverable", 40: "fatal"}


def operational_event(device: KnownDevice, found: Mapping[str, Any]) -> Event:
    """Return what the worker passed on (agent/nvml/operational.py) in the vocabulary's words."""
    xid, attributes = int(found["xid"]), int(found["attributes"])
    role = "unmarked"
    if attributes & _PROPAGATED:
        role = "propagated"
    elif attributes & _PRIMARY:
        role = "primary"
    severity = _SEVERITIES.get(int(found["severity"]), "unknown")
    named = f"XID {xid}" if xid else "an error without an XID"
    where = f" in {found['module']}" if found["module"] else ""
    contained = ", not contained" if attributes & _UNCONTAINED else ""
    pairs: dict[str, Scalar] = {
        "hw.id": device.hw_id,
        "gpu": device.index,
        "code": str(xid) if xid else "",
        "role": role,
        "severity": severity,
        "source": "nvml",
        "text": f"GPU {device.index}: {named}{where}: {severity}, {role}{contained}",
    }
    return Event("gpu.operational_event", float(found["at"]), pairs)
