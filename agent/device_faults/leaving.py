"""Faults as events: what leaves the agent of them."""

from ...vocabulary.samples import Event, Scalar
from .fault import NodeDeviceFault


def enriched(event: Event, fault: NodeDeviceFault, count: int) -> Event:
    """Return the event with what the catalogue has on its code, standing for `count` of it."""
    pairs: dict[str, Scalar] = {**event.attributes, "hw.id": fault.hw_id}
    pairs.update({"vendor": fault.vendor, "class": fault.fault_class, "count": count})
    if fault.immediate:
        pairs["action"] = fault.immediate
    if fault.investigate:
        pairs["investigate"] = fault.investigate
    if not pairs.get("text"):
        pairs["text"] = fault.meaning
    return Event(event.name, event.at, pairs, event.resource)


def summary(fault: NodeDeviceFault, now: float, count: int) -> Event:
    """Return the event that stands for what a storm folded, of the time of the last one."""
    newest = fault.evidence[-1] if fault.evidence else None
    pairs: dict[str, Scalar] = {
        "hw.id": fault.hw_id,
        "code": fault.code,
        "vendor": fault.vendor,
        "text": newest.text if newest else fault.meaning,
        "source": newest.source if newest else "",
    }
    if fault.pid is not None:
        pairs["pid"] = fault.pid
    return enriched(Event("gpu.fault", min(now, fault.last_seen), pairs), fault, count)
