"""Operations that ended, summed up: what one rank reports of a reporting interval."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from .inspector import InspectorOperation

K = TypeVar("K")


def grouped(
    placed: Iterable[tuple[K, InspectorOperation]],
) -> Mapping[tuple[K, str, str], list[InspectorOperation]]:
    """Return operations by (what they were placed by, communicator, kind), in their order."""
    parts: dict[tuple[K, str, str], list[InspectorOperation]] = defaultdict(list)
    for key, one in placed:
        parts[key, one.communicator, one.op].append(one)
    return parts


def figures(ended: list[InspectorOperation]) -> dict[str, float]:
    """Return the metrics of `collective.*` for operations of one kind on one rank; not for none."""
    seconds = [one.seconds for one in ended]
    found = {
        "collective.count": float(len(ended)),
        "collective.duration": _median(seconds),
        "collective.duration.max": max(seconds),
        "collective.size": float(sum(one.size for one in ended)),
    }
    bandwidths = [one.bus_bandwidth for one in ended if one.bus_bandwidth is not None]
    if bandwidths:
        found["collective.bus_bandwidth"] = _median(bandwidths)
    return found


def _median(values: Sequence[float]) -> float:
    """Return the middle value. `statistics` has it too, and loads fractions and decimals."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
