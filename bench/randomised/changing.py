"""What each habit does to the requests of its host: points lost, values changed, requests moved."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, floor
from random import Random
from typing import Any

from .drawing import HostHabit, family_of
from .requests import SentRequest, attribute, points, seconds, series

MIB = 2.0**20
_MEMORY = ("process.memory.private", "process.memory.usage")
_FULL = 0.95
"""A device is capped where it draws this share of its limit: then the cap is not moved."""

Keeps = Callable[[dict[str, Any], dict[str, Any]], bool]
"""Tells of a metric and a point of it whether the point is sent."""


def changed(sent: Sequence[SentRequest], habits: Sequence[HostHabit]) -> list[SentRequest]:
    """Return the requests as they come where hosts have these habits; `sent` is changed."""
    found = list(sent)
    for habit in habits:
        mine = [one for one in found if one.host == habit.host]
        if habit.id in _MOVED:
            others = [one for one in found if one.host != habit.host]
            found = others + _MOVED[habit.id](mine, habit)
        else:
            _CHANGED[habit.id](mine, habit)
    found = [one for one in found if "resourceLogs" in one.body or any(map(points, one.metrics))]
    return sorted(found, key=lambda one: one.at)


def _keep(sent: Sequence[SentRequest], keeps: Keeps) -> None:
    for one in sent:
        for metric in one.metrics:
            held = points(metric)
            held[:] = [point for point in held if keeps(metric, point)]


def _restart(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    _keep(sent, lambda _, point: not habit.begin <= seconds(point) < habit.end)


def _vanish(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    _keep(
        sent,
        lambda metric, point: (
            family_of(metric["name"]) != habit.family
            or not habit.begin <= seconds(point) < habit.end
        ),
    )


def _lose(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    rng = Random(habit.seed)
    _keep(sent, lambda metric, _: not family_of(metric["name"]) or rng.random() >= habit.amount)


def _read_seldom(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    """Keep the first reading of each series in every so many seconds, of one family."""
    newest: dict[str, int] = {}

    def keeps(metric: dict[str, Any], point: dict[str, Any]) -> bool:
        if family_of(metric["name"]) != habit.family:
            return True
        name, slot = series(metric, point), floor(seconds(point) / habit.amount)
        if newest.get(name) == slot:
            return False
        newest[name] = slot
        return True

    _keep(sent, keeps)


def _reset(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    """Let the counters of a family begin at nought."""
    base: dict[str, float] = {}
    for metric, point in _of(sent, lambda name: family_of(name) == habit.family):
        if "sum" not in metric:
            continue
        name, value = series(metric, point), float(point["asDouble"])
        if seconds(point) < habit.begin:
            base[name] = value
        else:
            point["asDouble"] = max(value - base.get(name, 0.0), 0.0)
            if "startTimeUnixNano" in point:
                point["startTimeUnixNano"] = str(round(habit.begin * 1e6) * 1000)


def _step_clock(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    shift = round(habit.amount * 1e9) * (1 if habit.seed % 2 else -1)
    for one in sent:
        records = [
            row
            for part in one.body.get("resourceLogs", ())
            for scope in part["scopeLogs"]
            for row in scope["logRecords"]
        ]
        for row in (*records, *(point for metric in one.metrics for point in points(metric))):
            if seconds(row) >= habit.begin:
                row["timeUnixNano"] = str(int(row["timeUnixNano"]) + shift)


def _grow(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    """Let trainers' own memory fill for some minutes, and the host's with it."""
    lasts = habit.end - habit.begin
    begun: dict[str, float] = {}
    for _, point in _of(sent, lambda name: name in _MEMORY):
        if attribute(point, "role") == "trainer":
            since = begun.setdefault(attribute(point, "pid"), seconds(point))
            point["asDouble"] = float(point["asDouble"]) + _grown(
                habit, seconds(point) - since, lasts
            )
    first = min(begun.values(), default=0.0)
    for _, point in _of(sent, lambda name: name == "system.memory.usage"):
        state = attribute(point, "system.memory.state") or "used"
        sign = {"used": 1.0, "free": -1.0}.get(state, 0.0)
        more = len(begun) * _grown(habit, seconds(point) - first, lasts)
        point["asDouble"] = max(float(point["asDouble"]) + sign * more, 0.0)


def _grown(habit: HostHabit, since: float, lasts: float) -> float:
    """Return the bytes by which a process has grown after so many seconds."""
    return habit.amount * MIB / 60.0 * lasts * (1.0 - exp(-max(since, 0.0) / lasts))


def _move_caps(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    """Lower the power limits for a while, where no device would reach the lower one."""
    power = [float(point["asDouble"]) for _, point in _of(sent, lambda name: name == "hw.power")]
    limits = list(_of(sent, lambda name: name == "hw.power.limit"))
    lowest = min((float(point["asDouble"]) for _, point in limits), default=0.0)
    if max(power, default=0.0) > _FULL * (1.0 - habit.amount) * lowest:
        return
    for _, point in limits:
        if habit.begin <= seconds(point) < habit.end:
            point["asDouble"] = float(point["asDouble"]) * (1.0 - habit.amount)


def _open_context(sent: Sequence[SentRequest], habit: HostHabit) -> None:
    """Add memory of a process of nobody's to a device beside each of its own readings."""
    device = None
    for one in sent:
        for metric in one.metrics:
            if metric["name"] != "hw.gpu.process.memory":
                continue
            held = points(metric)
            device = device or (attribute(held[0], "hw.id") if held else None)
            for point in [
                row
                for row in held
                if attribute(row, "hw.id") == device and habit.begin <= seconds(row) < habit.end
            ][:1]:
                other: dict[str, Any] = copy.deepcopy(point)
                other["asDouble"] = habit.amount * MIB
                for row in other["attributes"]:
                    if row["key"] == "pid":
                        row["value"] = {"intValue": str(3_000_000 + habit.seed % 90_000)}
                held.append(other)


def _repeat(sent: list[SentRequest], habit: HostHabit) -> list[SentRequest]:
    rng, later = Random(habit.seed), habit.end - habit.begin
    again = [
        SentRequest(copy.deepcopy(one.body), one.host, one.at + rng.uniform(0.5, 1.0) * later)
        for one in sent
        if rng.random() < habit.amount
    ]
    return sent + again


def _hold_back(sent: list[SentRequest], habit: HostHabit) -> list[SentRequest]:
    """Hold back what is sent within a time; what comes after it waits its turn."""
    found, last = [], 0.0
    for one in sent:
        held = habit.amount if habit.begin <= one.at < habit.end else 0.0
        last = max(last, one.at + held)
        found.append(replace(one, at=last))
    return found


def _of(sent: Sequence[SentRequest], wanted: Callable[[str], bool]) -> list[tuple[Any, Any]]:
    return [
        (metric, point)
        for one in sent
        for metric in one.metrics
        if wanted(metric["name"])
        for point in points(metric)
    ]


_CHANGED: dict[str, Callable[[Sequence[SentRequest], HostHabit], None]] = {
    "agent_restart": _restart,
    "vanishing_series": _vanish,
    "partial_scrapes": _lose,
    "slow_exporter": _read_seldom,
    "counter_reset": _reset,
    "clock_step": _step_clock,
    "startup_growth": _grow,
    "moving_caps": _move_caps,
    "foreign_context": _open_context,
}
_MOVED: dict[str, Callable[[list[SentRequest], HostHabit], list[SentRequest]]] = {
    "duplicates": _repeat,
    "late_data": _hold_back,
}
