"""Answers of several collectors as one: lists of which each has a part, and hosts that jobs share.

Each function takes what was answered (JSON), at least one, and returns what one collector would.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Rows = Iterable[Mapping[str, Any]]


def hosts(found: Iterable[Any]) -> dict[str, Any]:
    """Return the hosts of all lists, each once, by name."""
    items: dict[str, dict[str, Any]] = {}
    for part in found:
        for row in part["items"]:
            held = items.get(row["host"])
            items[row["host"]] = row if held is None else _newer(held, row)
    return {"items": [items[name] for name in sorted(items)], "next_cursor": None}


def observations(found: Iterable[Any]) -> dict[str, Any]:
    """Return the observations of all lists, the newest begin first."""
    items = [row for part in found for row in part["items"]]
    items.sort(key=lambda row: json.dumps(row, sort_keys=True))
    items.sort(key=lambda row: str(row["at"]), reverse=True)
    return {"items": items, "next_cursor": None}


def targets(found: Iterable[Any]) -> list[Any]:
    """Return the rows of all lists, each once."""
    rows = {json.dumps(row, sort_keys=True): row for part in found for row in part}
    return [rows[text] for text in sorted(rows)]


def host(found: Iterable[Any]) -> dict[str, Any]:
    """Return a host with the ranks, readings and devices that each has of it."""
    whole: dict[str, Any] = {}
    for row in found:
        if not whole:
            whole = dict(row)
            continue
        readings = _by(("metric", "attributes"), [*whole["readings"], *row["readings"]])
        devices = {one["hw_id"]: one for one in whole["devices"]}
        for one in row["devices"]:
            held = devices.get(one["hw_id"])
            if held is None or held["job"] is None:
                devices[one["hw_id"]] = one
        whole = {
            **_newer(whole, row),
            "readings": readings,
            "devices": [devices[name] for name in sorted(devices)],
        }
    return whole


def series(found: Iterable[Any]) -> dict[str, Any]:
    """Return a metric of a host with the series that each has of it."""
    parts = list(found)
    rows = [row for part in parts for row in part["series"]]
    rows.sort(key=lambda row: len(row["points"]))
    return {**parts[0], "series": _by(("attributes",), rows)}


LISTS: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "/api/v1/hosts": hosts,
    "/api/v1/observations": observations,
    "/api/v1/targets": targets,
}


def of_host(path: str) -> Callable[[Iterable[Any]], Any]:
    """Return what joins the answers of a path below /hosts/."""
    return series if path.endswith("/series") else host


def _newer(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    newer = max(one, other, key=lambda row: str(row["last_received"]))
    return {**newer, "ranks": {**one["ranks"], **other["ranks"]}}


def _by(names: tuple[str, ...], rows: Rows) -> list[Mapping[str, Any]]:
    """Return rows that are the same by these fields once: the last one."""
    found = {json.dumps([row[name] for name in names], sort_keys=True): row for row in rows}
    return [found[text] for text in sorted(found)]
