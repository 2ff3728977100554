"""Fixed thresholds: the rules of thresholds.toml, as Prometheus would evaluate them."""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....vocabulary import entities
from ....vocabulary.entities import Entity
from .alarms import MethodAlarm, Received
from .grid import EVERY_SECONDS, Array, GridMatrix, MetricGrid, filled

STALE_CELLS = 60
"""A value counts for five minutes, as Prometheus' staleness would have it."""


@cache
def rules() -> tuple[dict[str, Any], ...]:
    """Return the rules in the order of the file."""
    text = resources.files(__package__ or "").joinpath("thresholds.toml").read_text("utf-8")
    return tuple(tomllib.loads(text)["rule"])


def alarms(grid: MetricGrid, events: Received) -> list[MethodAlarm]:
    """Return an alarm for every evaluation at which a rule fires."""
    found: list[MethodAlarm] = []
    for rule in rules():
        if "event" in rule:
            found += _by_event(rule, events)
        elif "silent_host" in rule:
            found += _silent(rule, grid)
        else:
            for matrix in grid.of(rule["metric"]):
                found += _by_metric(rule, matrix, grid)
    return found


def _by_metric(rule: dict[str, Any], matrix: GridMatrix, grid: MetricGrid) -> Iterator[MethodAlarm]:
    wanted = rule.get("attributes", {})
    if any(matrix.attributes.get(key) != value for key, value in wanted.items()):
        return
    values = filled(matrix.values, most=STALE_CELLS)
    if rule.get("absolute"):
        values = np.abs(values)
    if "ratio_of" in rule:
        values = values / _limits(rule["ratio_of"], matrix, grid)
    with np.errstate(invalid="ignore"):
        beyond = values > rule["above"] if "above" in rule else values < rule["below"]
    held = _held(beyond, int(rule["for"] / EVERY_SECONDS))
    for row, cell in zip(*np.nonzero(held), strict=True):
        yield _alarm(rule, float(grid.at[cell]), matrix.entities[row])


def _limits(metric: str, matrix: GridMatrix, grid: MetricGrid) -> Array:
    """Return the limit of each entity at each moment, NaN where none is reported."""
    limits = np.full(matrix.values.shape, np.nan)
    for other in grid.of(metric):
        place = {entity: number for number, entity in enumerate(other.entities)}
        for row, entity in enumerate(matrix.entities):
            if entity in place:
                limits[row] = filled(other.values[place[entity]], most=STALE_CELLS)
    return limits


def _held(beyond: NDArray[np.bool_], cells: int) -> NDArray[np.bool_]:
    """Return where it has held for so many cells and one more."""
    if cells == 0:
        return beyond
    held = np.zeros(beyond.shape, dtype=bool)
    if beyond.shape[1] > cells:
        windows = np.lib.stride_tricks.sliding_window_view(beyond, cells + 1, axis=1)
        held[:, cells:] = windows.all(axis=2)
    return held


def _silent(rule: dict[str, Any], grid: MetricGrid) -> Iterator[MethodAlarm]:
    """Return alarms of hosts from which nothing was received for so long."""
    last: dict[str, NDArray[np.bool_]] = {}
    for matrix in grid.matrices:
        for entity, values in zip(matrix.entities, matrix.values, strict=True):
            if entity.host is not None:
                known = last.setdefault(entity.host, np.zeros(len(grid.at), dtype=bool))
                known |= ~np.isnan(values)
    cells = int(rule["silent_host"] / EVERY_SECONDS)
    for host, known in last.items():
        began = int(np.argmax(known))
        absent = ~known
        absent[:began] = False
        held = _held(absent[None, :], cells)[0]
        for cell in np.flatnonzero(held).tolist():
            yield _alarm(rule, float(grid.at[cell]), entities.host(host))


def _by_event(rule: dict[str, Any], events: Received) -> Iterator[MethodAlarm]:
    for at, event in events:
        if event.name != rule["event"]:
            continue
        pairs = event.attributes
        if event.name == "process.exit" and not (pairs.get("exit_code") or pairs.get("signal")):
            continue
        host = event.resource.host
        rank = pairs.get("rank")
        entity = entities.host(host) if rank is None else entities.rank(int(rank), host)
        yield _alarm(rule, at, entity)


def _alarm(rule: dict[str, Any], at: float, entity: Entity) -> MethodAlarm:
    return MethodAlarm(at, entity, 1.0, rule["name"], rule.get("severity", "warning"))
