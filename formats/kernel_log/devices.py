"""Faults of NVIDIA devices in the kernel log: XIDs, SXIDs, and a GPU that fell off the bus."""

from ...vocabulary import device_faults
from ...vocabulary.patterns import DeferredPattern
from .reports import TEXT, DeviceFault

_XID = DeferredPattern(
    r"(?s)NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{1,8}(?::[0-9a-fA-F]{1,4}){1,2}(?:\.[0-9a-fA-F])?)"
    r"[^)]{0,40}\): (\d{1,5})(?:, ?(.*))?$",
)
_SXID = DeferredPattern(
    r"(?s)SXid \((?:PCI:)?([0-9a-fA-F]{1,8}(?::[0-9a-fA-F]{1,4}){1,2}(?:\.[0-9a-fA-F])?)\): "
    r"(\d{4,6})(?:, ?(.*))?$",
)
_PID = DeferredPattern(r"\bpid=['\"]?(\d{1,9})\b")
_NAME = DeferredPattern(r"\bname=([^,]{1,64})")
_UNIT = DeferredPattern(
    r"\b([A-Z][A-Z0-9_/]{1,40}) +(Fatal|Non-?[Ff]atal) +(?:XC\d+ +)?(?:i\d+ +)?Link (-?\d{1,4})"
)
_LINK = DeferredPattern(r"\bLink (-?\d{1,4})\b")
_RECOVERY = DeferredPattern(
    r"recovery action changed from .{0,60}? to (0x[0-9a-fA-F]{1,4}|\d{1,3})"
)
_ADDRESS = DeferredPattern(
    r"\b([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?)\b"
)
_UUID = DeferredPattern(r"NVRM: GPU at PCI:([0-9a-fA-F:.]{7,20}): (GPU-[0-9a-fA-F-]{8,40})")
_DETAILS = ("Severity ", "Data {")
"""Lines that only continue the SXID above them."""


def xid(text: str) -> DeviceFault | None:
    """Read an XID; its class only where the line itself says it (NVLink 5, XID 154)."""
    found = _XID.search(text)
    if found is None:
        return None
    rest = found[3] or ""
    pid, name = _PID.search(rest), _NAME.search(rest)
    unit = _UNIT.search(rest) if "Link " in rest else None
    process = name[1].strip(" '\"") if name else ""
    fault_class, action = "", ""
    if unit:
        fault_class = "fatal" if unit[2] == "Fatal" else "warning"
    if found[2] == "154" and (asked := _RECOVERY.search(rest)):
        known = device_faults.recovery_actions().get(int(asked[1], 0))
        action = known.action if known else ""
        fault_class = "info" if action == "none" else "warning"
    return DeviceFault(
        code=str(int(found[2])),
        pci=normal(found[1]),
        text=text[text.index("NVRM") :][:TEXT],
        pid=int(pid[1]) if pid else None,
        process="" if process == "<unknown>" else process,
        fault_class=fault_class,
        action=action,
        link=int(unit[3]) if unit else None,
        unit=unit[1] if unit else "",
    )


def sxid(text: str) -> DeviceFault | None:
    """Read an SXID; lines that only continue one are none of their own."""
    found = _SXID.search(text)
    if found is None:
        return None
    rest = found[3] or ""
    if rest.startswith(_DETAILS):
        return None
    link = _LINK.search(rest)
    return DeviceFault(
        code=f"sxid.{int(found[2])}",
        pci=normal(found[1]),
        text=text[:TEXT],
        fault_class="fatal" if rest.startswith("Fatal") else "",
        link=int(link[1]) if link else None,
    )


def address(text: str) -> str:
    """Return the first full PCI address of a line, "" where it has none."""
    found = _ADDRESS.search(text)
    return normal(found[1]) if found else ""


def identity(text: str) -> tuple[str, str] | None:
    """Read the driver's line that says which UUID is at which address."""
    found = _UUID.search(text)
    return (normal(found[1]), found[2]) if found else None


def normal(written: str) -> str:
    """Return a PCI address as sysfs spells it, such as 0000:05:00.0."""
    if len(written) == 10 and written[4] == ":":  # as the driver writes nearly all of them
        return f"{written.lower()}.0"
    head, dot, function = written.lower().partition(".")
    parts = [int(part, 16) for part in head.split(":") if part]
    domain, bus, slot = ([0, *parts] if len(parts) == 2 else [*parts, 0, 0, 0])[:3]
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function if dot else '0'}"
