"""What the attributes of a series say: its rank, its plane, and how far its source is trusted."""

from collections.abc import Mapping

from ...vocabulary import metrics as vocabulary
from ...vocabulary.samples import Scalar

SOURCES = ("probe", "log", "flight_recorder", "ras", "inspector", "exporter")
"""The contract's order: the first of these that reports a series wins."""

_FLAG = {"quality", "source"}


def rank_of(pairs: Mapping[str, Scalar]) -> int | None:
    """Return the rank that is named, as a number or in digits; None for anything else."""
    rank = whole(pairs.get("rank"))
    return rank if rank is not None and rank >= 0 else None


def whole(value: Scalar | None) -> int | None:
    """Return a whole number, also one in digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def plane_name(name: str, metric: vocabulary.Metric, pairs: Mapping[str, Scalar]) -> str:
    """Return the plane of a per-step series: the metric, and its closed attribute if it has one."""
    for key in metric.values:
        if key not in _FLAG and (value := pairs.get(key)) is not None:
            return f"{name}|{value}"
    return name


def source_order(pairs: Mapping[str, Scalar]) -> int:
    """Return where a series' source stands in the contract's order; none counts as a probe."""
    source = pairs.get("source", SOURCES[0])
    return SOURCES.index(str(source)) if source in SOURCES else len(SOURCES)
