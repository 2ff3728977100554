"""What a kernel's line means once it is known to be a dead job's: graver or not, and of which port.

A live collector gets the class of a code from the agent, and ports from its readings of them; of a
dead job the kernel's lines are all there is.
"""

from collections.abc import Iterator
from dataclasses import replace

from ....vocabulary import device_faults
from ....vocabulary.samples import Event, Scalar

FAILED = "status.failed"
"""The code of a device that its exporter or its tool calls failed, without saying why."""

_ENDED = frozenset({"43", "45"})
"""XIDs that follow from the end of a process, whatever ended it."""
_RECOVERY = "154"
_DEAD_PORTS = frozenset({
    "nic.health", "nic.command_timeout", "nic.firmware", "nic.transmit_timeout", "nic.module_error",
    "nic.module_temperature", "nic.bus_error",
})  # fmt: skip
"""Signatures of a network card that passes nothing on any more."""

_STARTING_SECONDS = 600.0
"""A host brings its ports up within that time of its boot."""


def graded(event: Event) -> Event:
    """Return a device's fault with the class that its line or else the tables give it."""
    pairs = dict(event.attributes)
    if event.name != "gpu.fault":
        return event
    code = str(pairs.get("code", ""))
    if code == _RECOVERY:
        # What has to be done tells of a fault, though the code itself is news.
        pairs["class"] = "info" if pairs.get("action") in (None, "none") else "degraded"
    elif "class" not in pairs:
        known = device_faults.find(str(pairs.get("vendor", "")), code)
        grade = known.fault_class
        if "on-fatal" in str(pairs.get("text", "")):
            grade = "warning" if known.line_decides else "degraded"
        # A program's own error is what a dead job may have died of; it accuses no device.
        if known.known and (grade != "application" or code in _ENDED):
            pairs["class"] = grade
    return replace(event, attributes=pairs)


def role(event: Event) -> str:
    """Return the role that a line has: root, cascade or confirmation."""
    if event.name == "gpu.fault" and event.attributes.get("class") in ("info", "warning"):
        return "confirmation"
    if event.name == "gpu.fault" and event.attributes.get("class") == "application":
        return "cascade" if event.attributes.get("code") not in _ENDED else "confirmation"
    return str(event.attributes.get("role") or "root")


def of_ports(event: Event, used: set[tuple[str, str]], booted: float | None) -> Iterator[Event]:
    """Yield what a line says of a port: down or up.

    used: ports by host that were up; booted: how long the host had run, s. A port that nobody ever
    saw up and that was down when its host started is not in use.
    """
    signature, device = event.attributes.get("signature"), event.attributes.get("device")
    if not isinstance(device, str) or not device:
        return
    up, down = signature == "nic.link_up", signature == "nic.link_down"
    if not (up or down or signature in _DEAD_PORTS):
        return
    port = event.resource.host, device
    if up:
        used.add(port)
    elif down and port not in used and booted is not None and booted < _STARTING_SECONDS:
        return
    pairs: dict[str, Scalar] = {
        "device": device,
        "port": "1",
        "state": "up" if up else "down",
        "reason": "carrier" if up or down else "gone",
        "text": str(event.attributes.get("text", "")),
    }
    yield Event("network.link", event.at, pairs, event.resource)
