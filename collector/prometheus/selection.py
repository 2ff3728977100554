"""What is asked of a store: the metrics that the tables of exporters and the vocabulary have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ...formats import exporters
from ...formats.remote_write.exported import spellings
from ...vocabulary import metrics
from . import pods
from .asking import parted

_QUERY_BYTES = 8_000
"""Of names in one query: VictoriaMetrics takes no query over 16 KiB."""


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Metrics that one query asks for, and how many series they have about."""

    names: tuple[str, ...]
    series: int


def discovery(matchers: Sequence[str]) -> list[str]:
    """Return the queries for which metrics there are, and how many series of each."""
    alternatives = [
        *wanted(),
        *pods.METRICS,
        *(pattern.replace("\\", "\\\\") for pattern in _patterns()),
    ]
    return [
        f"count by (__name__) ({_selector(part, matchers)})"
        for part in parted(alternatives, _QUERY_BYTES, 1)
    ]


def samples(names: Sequence[str], matchers: Sequence[str], seconds: float) -> str:
    """Return the query for every sample of the newest seconds, with its own time."""
    return f"{_selector(names, matchers)}[{max(round(seconds * 1000), 1)}ms]"


def pages(
    found: Mapping[str, int], *, page_series: int, max_series: int
) -> tuple[list[QueryPage], tuple[str, ...]]:
    """Return what to ask for, in queries of about `page_series`, and which metrics are left out.

    The most telling metrics come first: those of the tables in their order.
    """
    made: list[QueryPage] = []
    left: list[str] = []
    names: list[str] = []
    size = total = length = 0
    for name in sorted(found, key=_place):
        if total + found[name] > max_series:
            left.append(name)
            continue
        if names and (size + found[name] > page_series or length + len(name) > _QUERY_BYTES):
            made.append(QueryPage(tuple(names), size))
            names, size, length = [], 0, 0
        names.append(name)
        length += len(name) + 1
        size += found[name]
        total += found[name]
    if names:
        made.append(QueryPage(tuple(names), size))
    return made, tuple(left)


@cache
def wanted() -> tuple[str, ...]:
    """Return the names that tables and contract have, the most telling first."""
    names: list[str] = []
    for table in (*map(exporters.load, exporters.VENDORS), exporters.hosts()):
        names += [name for name, row in spellings(table) if not row.ignore]
    names += [metric.prometheus_name for metric in metrics.catalogue().values()]
    return tuple(dict.fromkeys(names))


@cache
def _patterns() -> tuple[str, ...]:
    """Return regular expressions of names in which a number stands."""
    found: list[str] = []
    for vendor in exporters.VENDORS:
        table = exporters.load(vendor)
        for pattern, row in table.patterns:
            if not row.ignore:
                bare = re.sub(r"\(\?P<[a-z_]+>", "(?:", pattern.pattern)
                found += [re.escape(prefix) + bare for prefix in table.prefixes]
    return tuple(dict.fromkeys(found))


@cache
def _places() -> Mapping[str, int]:
    return {name: place for place, name in enumerate(wanted())}


def _place(name: str) -> tuple[int, str]:
    return _places().get(name, len(_places())), name


def _selector(alternatives: Sequence[str], matchers: Sequence[str]) -> str:
    either = "|".join(alternatives)
    return "{" + ",".join([f'__name__=~"{either}"', *matchers]) + "}"
