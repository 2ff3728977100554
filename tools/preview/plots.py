"""Panels with a time axis as SVG: plots, heatmaps, rows of states."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from .units import COLOURS, PALETTE, colour, ticks, written

Points = list[tuple[float, float]]
_LEFT, _BOTTOM, _TOP = 72, 20, 6


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its legend, and (time, value) of each point."""

    name: str
    points: Points


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a plot is drawn: pixels, and the time range."""

    width: float
    height: float
    start: float
    end: float

    def x(self, at: float) -> float:
        """Return where a time is."""
        return _LEFT + (at - self.start) / (self.end - self.start) * (self.width - _LEFT - 8)


def timeseries(
    panel: Mapping[str, Any],
    lines: Sequence[Line],
    frame: Frame,
    marks: Sequence[tuple[float, float]],
) -> str:
    """Return a plot with its legend; `marks` are incidents, from when to when."""
    defaults = panel["fieldConfig"]["defaults"]
    custom = defaults.get("custom", {})
    legend = panel["options"]["legend"]
    beside = legend["placement"] == "right"
    pointed = {
        one["matcher"]["options"]
        for one in panel["fieldConfig"]["overrides"]
        for part in one["properties"]
        if part["value"] == "points"
    }
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    drawn = _stacked(lines) if stacked else list(lines)
    inner = Frame(
        frame.width * (0.62 if beside else 1.0),
        frame.height - (0 if beside else _legend_height(lines, frame)),
        frame.start,
        frame.end,
    )
    values = [value for line in drawn for _, value in line.points if math.isfinite(value)]
    if not values:
        return f'<div class="none">{html.escape(defaults.get("noValue", "No data"))}</div>'
    low = min([*values, *([defaults["min"]] if "min" in defaults else [])])
    high = max(*values, custom.get("axisSoftMax", -math.inf))
    if high - low < 1e-12:
        high, low = high + abs(high) * 0.1 + 1e-9, low - (abs(low) * 0.1 if low else 0)
    shapes = [_axes(inner, low, high, defaults["unit"])]
    for begin, end in marks:
        left, right = inner.x(max(begin, frame.start)), inner.x(end)
        shapes.append(
            f'<rect x="{left:.1f}" y="{_TOP}" width="{max(1, right - left):.1f}"'
            f' height="{inner.height - _TOP - _BOTTOM:.1f}" fill="#f2495c" opacity=".07"/>'
            f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{_TOP}" y2="{inner.height - _BOTTOM:.1f}"'
            ' stroke="#f2495c" stroke-dasharray="3 3"/>'
        )

    def y(value: float) -> float:
        room = inner.height - _TOP - _BOTTOM
        return float(_TOP + room * (1 - (value - low) / (high - low)))

    floor: dict[float, float] = {}
    for number, line in enumerate(drawn):
        hue = _hue(panel, line, number)
        if line.name in pointed:
            shapes += [
                f'<circle cx="{inner.x(at):.1f}" cy="{y(value):.1f}" r="4" fill="{hue}"/>'
                for at, value in line.points
                if math.isfinite(value)
            ]
            continue
        for piece in _pieces(line.points):
            path = " ".join(f"{inner.x(at):.1f},{y(value):.1f}" for at, value in piece)
            if stacked:
                back = " ".join(
                    f"{inner.x(at):.1f},{y(max(low, floor.get(at, low))):.1f}"
                    for at, _ in reversed(piece)
                )
                shapes.append(f'<polygon points="{path} {back}" fill="{hue}" opacity=".55"/>')
            shapes.append(
                f'<polyline points="{path}" fill="none" stroke="{hue}" stroke-width="1.3"/>'
            )
        floor |= dict(line.points)  # where a series has no value the one before it is below
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in defaults["thresholds"]["steps"][1:]:
            if low <= step["value"] <= high:
                shapes.append(
                    f'<line x1="{_LEFT}" x2="{inner.width - 8}" y1="{y(step["value"]):.1f}"'
                    f' y2="{y(step["value"]):.1f}" stroke="{COLOURS[step["color"]]}"'
                    ' stroke-dasharray="6 4"/>'
                )
    picture = f'<svg width="{inner.width:.0f}" height="{inner.height:.0f}">{"".join(shapes)}</svg>'
    return picture + _legend(panel, lines, beside=beside, room=_legend_height(lines, frame))


def heatmap(panel: Mapping[str, Any], lines: Sequence[Line], frame: Frame) -> str:
    """Return a row of cells for each series, coloured from lowest to highest value."""
    ordered = sorted(
        lines, key=lambda line: (0, float(line.name)) if line.name.isdigit() else (1, 0)
    )
    values = [value for line in ordered for _, value in line.points if math.isfinite(value)]
    if not values:
        return '<div class="none">No data</div>'
    low, high = min(values), max(values)
    inner = Frame(frame.width, frame.height - 22, frame.start, frame.end)
    room = inner.height - _TOP - _BOTTOM
    each = room / len(ordered)
    shapes = [_times(inner)]
    for number, line in enumerate(reversed(ordered)):
        top = _TOP + number * each
        if each >= 9 or number % math.ceil(9 / each) == 0:
            shapes.append(
                f'<text x="{_LEFT - 6}" y="{top + each / 2 + 3:.1f}" text-anchor="end">'
                f"{html.escape(line.name)}</text>"
            )
        for (at, value), after in zip(
            line.points, [*(at for at, _ in line.points[1:]), None], strict=True
        ):
            right = inner.x(after) if after is not None else inner.x(at) + 4
            share = (value - low) / (high - low) if high > low else 0.0
            shapes.append(
                f'<rect x="{inner.x(at):.1f}" y="{top:.1f}" width="{right - inner.x(at) + 0.4:.1f}"'
                f' height="{each + 0.3:.1f}" fill="{_turbo(share)}"/>'
            )
    unit = panel["options"]["cellValues"]["unit"]
    scale = "".join(f'<i style="background:{_turbo(step / 40)}"></i>' for step in range(41))
    return (
        f'<svg width="{inner.width:.0f}" height="{inner.height:.0f}">{"".join(shapes)}</svg>'
        f'<div class="scale">{written(low, unit)} <span>{scale}</span> {written(high, unit)}</div>'
    )


def states(panel: Mapping[str, Any], lines: Sequence[Line], frame: Frame) -> str:
    """Return a row of cells for each series, coloured by thresholds."""
    if not lines:
        none = panel["fieldConfig"]["defaults"].get("noValue", "No data")
        return f'<div class="none">{html.escape(none)}</div>'
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    room = frame.height - _TOP - _BOTTOM
    each = room / len(lines)
    wide = 150
    shapes = []
    inner = Frame(frame.width - wide, frame.height, frame.start, frame.end)
    for number, line in enumerate(lines):
        top = _TOP + number * each
        shapes.append(f'<text x="4" y="{top + each / 2 + 3:.1f}">{html.escape(line.name)}</text>')
        for (at, value), (after, _) in pairwise(line.points):
            shapes.append(
                f'<rect x="{wide + inner.x(at):.1f}" y="{top + 1:.1f}"'
                f' width="{inner.x(after) - inner.x(at) + 0.4:.1f}" height="{each - 2:.1f}"'
                f' fill="{colour(value, steps)}" opacity=".8"/>'
            )
    shapes.append(f'<g transform="translate({wide} 0)">{_times(inner)}</g>')
    return f'<svg width="{frame.width:.0f}" height="{frame.height:.0f}">{"".join(shapes)}</svg>'


def _legend_height(lines: Sequence[Line], frame: Frame) -> float:
    """Return what a legend beneath takes: a third of the panel, and then it scrolls."""
    rows = math.ceil(sum(7 * len(line.name) + 30 for line in lines) / frame.width)
    return min(20.0 * max(1, rows), 0.35 * frame.height)


def _hue(panel: Mapping[str, Any], line: Line, number: int) -> str:
    """Return a series' colour: its own where an override gives one."""
    for one in panel["fieldConfig"]["overrides"]:
        for part in one["properties"]:
            if one["matcher"]["options"] == line.name and part["id"] == "color":
                return COLOURS[part["value"]["fixedColor"]]
    return PALETTE[number % len(PALETTE)]


def _pieces(points: Points) -> list[Points]:
    """Return the points between gaps: a line does not cross what is not there."""
    if len(points) < 2:
        return [points]
    step = min(after - before for (before, _), (after, _) in pairwise(points))
    found: list[Points] = [[]]
    for at, value in points:
        if found[-1] and (at - found[-1][-1][0] > 1.5 * step or not math.isfinite(value)):
            found.append([])
        if math.isfinite(value):
            found[-1].append((at, value))
    return [piece for piece in found if piece]


def _stacked(lines: Sequence[Line]) -> list[Line]:
    total: dict[float, float] = {}
    found = []
    for line in lines:
        points = []
        for at, value in line.points:
            total[at] = total.get(at, 0.0) + (value if math.isfinite(value) else 0.0)
            points.append((at, total[at]))
        found.append(Line(line.name, points))
    return found


def _axes(frame: Frame, low: float, high: float, unit: str) -> str:
    shapes = [_times(frame)]
    count = 5 if frame.height > 150 else 3
    values = [low + (high - low) * step / (count - 1) for step in range(count)]
    for step, text in enumerate(ticks(values, unit)):
        top = _TOP + (frame.height - _TOP - _BOTTOM) * (1 - step / (count - 1))
        shapes.append(
            f'<line x1="{_LEFT}" x2="{frame.width - 8}" y1="{top:.1f}" y2="{top:.1f}"'
            f' class="grid"/><text x="{_LEFT - 6}" y="{top + 3:.1f}" text-anchor="end">'
            f"{html.escape(text)}</text>"
        )
    return "".join(shapes)


def _times(frame: Frame) -> str:
    shapes = []
    count = max(2, min(6, int((frame.width - _LEFT) / 75)))
    for step in range(count):
        at = frame.start + (frame.end - frame.start) * (step + 0.5) / count
        text = datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
        shapes.append(
            f'<text x="{frame.x(at):.1f}" y="{frame.height - 5:.1f}" text-anchor="middle">{text}'
            "</text>"
        )
    return "".join(shapes)


def _legend(panel: Mapping[str, Any], lines: Sequence[Line], *, beside: bool, room: float) -> str:
    """Return the legend; beneath, what does not fit into its `room` (pixels) is scrolled to."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    rows = []
    for number, line in enumerate(lines):
        hue = _hue(panel, line, number)
        rows.append((line, f'<b style="background:{hue}"></b>{html.escape(line.name)}'))
    if not beside:
        inside = "".join(f"<span>{text}</span>" for _, text in rows)
        return f'<div class="legend" style="max-height:{room:.0f}px">{inside}</div>'
    options = panel["options"]["legend"]
    extreme = min if "min" in options["calcs"] else max
    known = [
        (extreme(value for _, value in line.points), line, text)
        for line, text in rows
        if line.points
    ]
    known.sort(key=lambda row: row[0], reverse=options["sortDesc"])
    cells = "".join(
        f"<tr><td>{text}</td><td>{written(line.points[-1][1], unit)}</td>"
        f"<td>{written(most, unit)}</td></tr>"
        for most, line, text in known
    )
    head = f"<tr><th>Name</th><th>Last</th><th>{options['sortBy']}</th></tr>"
    return f'<div class="legend beside"><table class="legend">{head}{cells}</table></div>'


def _turbo(share: float) -> str:
    """Return a colour of the scale from dark blue over green and yellow to dark red."""
    stops = ((48, 18, 59), (70, 134, 251), (27, 229, 181), (163, 253, 60), (251, 185, 56),
             (227, 68, 10), (122, 4, 3))  # fmt: skip
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    index = min(int(place), len(stops) - 2)
    part = place - index
    mixed = (round(a + (b - a) * part) for a, b in zip(stops[index], stops[index + 1], strict=True))
    return f"rgb({','.join(map(str, mixed))})"
