"""A dashboard as a page of HTML: every panel in its place, filled from a Prometheus."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.live import asking
from bench.live.prometheus import PrometheusQueries

from .plots import Frame, Line, heatmap, states, timeseries
from .units import COLOURS, colour, written

COLUMN, ROW, GAP = 60, 38, 8
STYLE = """
body{background:#111217;color:#ccccdc;font:12px Inter,Helvetica,sans-serif;margin:0}
h1{font-size:17px;margin:10px 12px 4px}.vars{margin:0 12px 8px}.vars span{background:#22252b;
border:1px solid #34373f;padding:4px 8px;margin-right:8px;border-radius:3px}
.grid{position:relative;margin:8px}.panel{position:absolute;background:#181b1f;
border:1px solid #24272e;border-radius:3px;overflow:hidden}.panel>h2{font-size:13px;
font-weight:500;margin:0;padding:7px 10px;height:18px}.row{position:absolute;font-size:14px;
font-weight:500;padding:8px 4px}.big{text-align:center;font-weight:500}.none{text-align:center;
color:#8e8e9a;padding-top:20px}svg text{fill:#a0a0ac;font-size:10.5px}.grid-line{}
line.grid{stroke:#2a2d34}.legend span{margin:0 12px 0 0;white-space:nowrap}
div.legend{padding:0 10px;line-height:19px}.legend b{display:inline-block;width:12px;height:3px;
margin-right:6px;vertical-align:middle}table{border-collapse:collapse;width:100%}
div.legend{overflow-y:auto}div.legend.beside{position:absolute;right:4px;top:34px;bottom:2px;width:38%;
padding:0}table.legend{font-size:11px}table.legend td:first-child{max-width:0;width:100%;
text-overflow:ellipsis}table.legend td,table.legend th{padding:1px 4px;border:0;white-space:nowrap}
th{text-align:left;color:#6e9fff;font-weight:500}td,th{padding:5px 8px;
border-bottom:1px solid #24272e;white-space:nowrap;overflow:hidden}td a{color:#6e9fff}
.bar{display:flex;align-items:center;padding:3px 10px}.bar i{display:block;height:16px;
margin:0 8px;border-radius:2px}.bar em{width:38%;font-style:normal;text-align:right}
.scale{padding:0 62px}.scale i{display:inline-block;width:5px;height:9px}
.scale span{white-space:nowrap}
"""


def page(
    document: Mapping[str, Any],
    server: PrometheusQueries,
    span: asking.QueryRange,
    chosen: Mapping[str, str],
) -> str:
    """Return the page; variables that are not chosen are All, or the first value."""
    values = asking.values_of(document, server, span, chosen)
    marks = _marks(document, server, span, values)
    parts = []
    bottom = 0
    for panel in document["panels"]:
        place = panel["gridPos"]
        left, top = place["x"] * COLUMN, place["y"] * ROW
        width, height = place["w"] * COLUMN - GAP, place["h"] * ROW - GAP
        bottom = max(bottom, top + height)
        box = f"left:{left}px;top:{top}px;width:{width}px;height:{height}px"
        if panel["type"] == "row":
            parts.append(f'<div class="row" style="{box}">⌄ {html.escape(panel["title"])}</div>')
            continue
        found = [
            (one, asking.answered(one, server, span))
            for one in asking.targets({"panels": [panel]}, values, span)
        ]
        inside = Frame(width, height - 34, span.start, span.end)
        parts.append(
            f'<div class="panel" style="{box}"><h2>{html.escape(panel["title"])}</h2>'
            f"{_drawn(panel, found, inside, marks)}</div>"
        )
    shown = "".join(
        f"<span>{html.escape(one.get('label') or one['name'])}: "
        f"{html.escape(_short(values[one['name']]))}</span>"
        for one in document["templating"]["list"]
        if not one.get("hide")
    )
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f"<h1>{html.escape(document['title'])}</h1><div class=vars>{shown}</div>"
        f'<div class="grid" style="height:{bottom + 10}px;width:{24 * COLUMN}px">'
        f"{''.join(parts)}</div>"
    )


Found = Sequence[tuple[asking.PanelTarget, list[dict[str, Any]]]]


def _short(value: str) -> str:
    return "All" if value == ".*" or value.startswith("(") else value


def _marks(
    document: Mapping[str, Any],
    server: PrometheusQueries,
    span: asking.QueryRange,
    values: Mapping[str, str],
) -> list[tuple[float, float]]:
    found = []
    for annotation in document["annotations"]["list"]:
        expression = asking.substituted(annotation["expr"], values)
        for one in server.range(expression, span.start, span.end, span.step):
            begin = last = float(one["values"][0][0])
            for at, _ in one["values"]:
                if float(at) - last > 2 * span.step:  # as Grafana: another one after a gap
                    found.append((begin, last))
                    begin = float(at)
                last = float(at)
            found.append((begin, last))
    return found


def _drawn(
    panel: Mapping[str, Any], found: Found, frame: Frame, marks: Sequence[tuple[float, float]]
) -> str:
    kind = panel["type"]
    if kind == "stat":
        return _stat(panel, found, frame)
    if kind == "table":
        return _table(panel, found)
    if kind == "bargauge":
        return _bars(panel, found, frame)
    lines = [
        Line(asking.legend(asked, one["metric"]) or "value", _points(one))
        for asked, series in found
        for one in series
    ]
    if kind == "heatmap":
        return heatmap(panel, lines, frame)
    if kind == "status-history":
        return states(panel, lines, frame)
    return timeseries(panel, lines, frame, marks)


def _points(one: Mapping[str, Any]) -> list[tuple[float, float]]:
    rows = one["values"] if "values" in one else [one["value"]]
    return [(float(at), float(value)) for at, value in rows]


def _stat(panel: Mapping[str, Any], found: Found, frame: Frame) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    series = [one for _, rows in found for one in rows]
    if not series:
        text = defaults.get("noValue", "No data")
        hue = COLOURS["text" if defaults.get("mappings") else "green"]
        spark = ""
    else:
        points = _points(series[0])
        value = points[-1][1]
        text = written(value, defaults["unit"], defaults.get("decimals"))
        hue = colour(value, defaults["thresholds"]["steps"])
        spark = _spark(points, frame, hue) if panel["options"]["graphMode"] == "area" else ""
    size = min(40, int(frame.width / max(4, len(text)) * 1.5))
    top = 10 if spark else 24
    return (
        f'<div class="big" style="color:{hue};font-size:{size}px;padding-top:{top}px">'
        f"{html.escape(text)}</div>{spark}"
    )


def _spark(points: Sequence[tuple[float, float]], frame: Frame, hue: str) -> str:
    finite = [(at, value) for at, value in points if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    low, high = min(value for _, value in finite), max(value for _, value in finite)
    begin, end = finite[0][0], finite[-1][0]
    path = " ".join(
        f"{(at - begin) / (end - begin) * frame.width:.1f},"
        f"{34 - 30 * ((value - low) / (high - low) if high > low else 0.5):.1f}"
        for at, value in finite
    )
    return (
        f'<svg width="{frame.width:.0f}" height="38" style="position:absolute;bottom:0">'
        f'<polygon points="0,38 {path} {frame.width},38" fill="{hue}" opacity=".15"/>'
        f'<polyline points="{path}" fill="none" stroke="{hue}"/></svg>'
    )


def _bars(panel: Mapping[str, Any], found: Found, frame: Frame) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    rows = [
        (asking.legend(asked, one["metric"]), _points(one)[-1][1])
        for asked, series in found
        for one in series
    ]
    if not rows:
        return f'<div class="none">{html.escape(defaults.get("noValue", "No data"))}</div>'
    highest = max(value for _, value in rows) or 1.0
    room = frame.width * 0.38
    return "".join(
        f'<div class="bar"><em>{html.escape(name)}</em>'
        f'<i style="width:{room * value / highest:.0f}px;'
        f'background:{colour(value, defaults["thresholds"]["steps"])}"></i>'
        f"{written(value, defaults['unit'], defaults.get('decimals'))}</div>"
        for name, value in sorted(rows, key=lambda row: -row[1])
    )


def _table(panel: Mapping[str, Any], found: Found) -> str:
    """Return the rows of all queries, those with the same labels in one, columns as organized."""
    options = panel["transformations"][-1]["options"]
    columns = sorted(options["renameByName"], key=lambda name: options["indexByName"][name])
    overrides = {
        one["matcher"]["options"]: {part["id"]: part["value"] for part in one["properties"]}
        for one in panel["fieldConfig"]["overrides"]
    }
    several = len(found) > 1
    rows: list[dict[str, Any]] = []
    for asked, series in found:
        for one in series:
            row: dict[str, Any] = dict(one["metric"])
            row["Value #" + asked.ref if several else "Value"] = _points(one)[-1][1]
            rows.append({key: value for key, value in row.items() if key in columns})
    rows = _merged(rows)
    if not rows:
        none = panel["fieldConfig"]["defaults"].get("noValue", "No data")
        return f'<div class="none">{html.escape(none)}</div>'
    for sort in panel["options"].get("sortBy", ()):
        key = next(name for name in columns if options["renameByName"][name] == sort["displayName"])
        rows.sort(key=lambda row: -row.get(key, -math.inf))
    titles = [options["renameByName"][name] for name in columns]
    head = "".join(
        f'<th style="width:{overrides[title].get("custom.width", "auto")}px">'
        f"{html.escape(title)}</th>"
        for title in titles
    )
    body = "".join(
        "<tr>"
        + "".join(
            _cell(row.get(name), overrides[options["renameByName"][name]]) for name in columns
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _merged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows joined where no field of theirs contradicts, as Grafana's merge does."""
    found: list[dict[str, Any]] = []
    for row in rows:
        for one in found:
            shared = row.keys() & one.keys()
            if shared and all(row[key] == one[key] for key in shared):
                one.update(row)
                break
        else:
            found.append(dict(row))
    return found


def _cell(value: Any, override: Mapping[str, Any]) -> str:
    if value is None:
        return "<td></td>"
    style = ""
    for mapping in override.get("mappings", ()):
        if value in mapping["options"]:
            style = f' style="color:{COLOURS[mapping["options"][value]["color"]]}"'
    if isinstance(value, float):
        if "thresholds" in override:
            style = f' style="color:{colour(value, override["thresholds"]["steps"])}"'
        value = written(value, override.get("unit", "none"))
    text = html.escape(value)
    return f"<td{style}>{f'<a>{text}</a>' if 'links' in override else text}</td>"
