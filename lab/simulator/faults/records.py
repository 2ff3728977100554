"""What kernels, drivers and schedulers write down of a fault, beside what sensors show of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ....vocabulary.samples import Scalar

Source = Literal["kernel", "scheduler", "agent"]


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One record: when (s from the start of the recording), on which host, by whom.

    `place` is the device it is about, -1 for none. The agent adds what it knows of the device.
    """

    at: float
    host: int
    name: str
    source: Source
    place: int = -1
    pairs: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])


def xid(at: float, host: int, place: int, code: int, text: str) -> FaultRecord:
    """Return a fault code of a device in the kernel's log."""
    pairs: dict[str, Scalar] = {"code": str(code), "text": f"Xid {code}: {text}"}
    return FaultRecord(at, host, "gpu.fault", "kernel", place, pairs)


def kernel(
    at: float, host: int, signature: str, role: str, text: str, device: str = ""
) -> FaultRecord:
    """Return a known line of the kernel's log."""
    pairs: dict[str, Scalar] = {"signature": signature, "role": role, "text": text}
    return FaultRecord(
        at, host, "log.fault", "kernel", -1, {**pairs, **({"device": device} if device else {})}
    )


def scheduled(at: float, host: int, reason: str, text: str) -> FaultRecord:
    return FaultRecord(
        at, host, "scheduler.event", "scheduler", -1, {"reason": reason, "text": text}
    )


def changed(at: float, host: int, kind: str, text: str) -> FaultRecord:
    """Return a change of a host's software that the agent saw."""
    return FaultRecord(at, host, "change", "agent", -1, {"kind": kind, "text": text})
