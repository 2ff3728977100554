"""What a dashboard asks of Prometheus: its variables' values in place, its time range and step.

Does what Grafana does with a query before it sends it, for the parts that our dashboards use.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .prometheus import PrometheusQueries

_NAME = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_SECONDS = {"1m": 60.0, "2m": 120.0}
"""Intervals that panels of ours set."""
_USUAL = 15.0
"""Seconds between scrapes for which they are meant; where scrapes are closer, so are they."""
_LABEL_VALUES = re.compile(r"label_values\((?:(.*),\s*)?(\w+)\)\s*$", re.DOTALL)
_SPECIAL = re.compile(r"[\\^$*+?.()|[\]{}]")


@dataclass(frozen=True, slots=True)
class QueryRange:
    """A time range: start and end (s since the epoch), step, and the interval of scrapes (s)."""

    start: float
    end: float
    step: float = 15.0
    scrape: float = 15.0

    def words(self) -> dict[str, str]:
        """Return Grafana's own variables."""
        seconds = round(self.end - self.start)
        return {
            "__range": f"{seconds}s",
            "__interval": f"{round(self.step)}s",
            "__rate_interval": f"{round(max(4 * self.scrape, self.step + self.scrape))}s",
        }


@dataclass(frozen=True, slots=True)
class PanelTarget:
    """One target of a panel, as it is sent."""

    panel: str
    ref: str
    expr: str
    legend: str
    instant: bool
    table: bool
    step: float


def substituted(text: str, values: Mapping[str, str]) -> str:
    """Return a query with values in the place of variables; KeyError names one that is missing."""
    return _NAME.sub(lambda match: values[match[1] or match[2]], text)


def values_of(
    document: Mapping[str, Any],
    server: PrometheusQueries,
    span: QueryRange,
    chosen: Mapping[str, str],
) -> dict[str, str]:
    """Return the value of each variable: as chosen, else All, else the first that is found."""
    found = span.words()
    for variable in document["templating"]["list"]:
        name = variable["name"]
        if variable["type"] == "datasource":
            found[name] = "prometheus"
        elif variable["type"] == "textbox":
            found[name] = variable["query"]
        elif name in chosen:
            found[name] = chosen[name]
        else:
            names = label_values(variable, server, span, found)
            if not variable["includeAll"]:
                found[name] = names[0] if names else ""
            else:
                found[name] = variable.get("allValue") or f"({'|'.join(map(_escaped, names))})"
    return found


def _escaped(value: str) -> str:
    """Return a value for a regular expression within a text of PromQL."""
    return _SPECIAL.sub(lambda match: "\\\\" + match[0], value)


def label_values(
    variable: Mapping[str, Any],
    server: PrometheusQueries,
    span: QueryRange,
    values: Mapping[str, str],
) -> list[str]:
    match = _LABEL_VALUES.match(substituted(variable["query"]["query"], values))
    if match is None:
        raise ValueError(f"{variable['name']}: not label_values(series, label)")
    more = {"match[]": match[1]} if match[1] else {}
    return list(server.ask(f"label/{match[2]}/values", start=span.start, end=span.end, **more))


def targets(
    document: Mapping[str, Any], values: Mapping[str, str], span: QueryRange
) -> Iterator[PanelTarget]:
    """Yield every query of every panel, at the step that the panel's own options allow."""
    for panel in document["panels"]:
        points = panel.get("maxDataPoints") or math.inf
        least = _SECONDS.get(panel.get("interval", ""), 0.0) * min(1.0, span.scrape / _USUAL)
        own = replace(span, step=max(span.step, (span.end - span.start) / points, least))
        words = {**values, **own.words()}
        for target in panel.get("targets", ()):
            yield PanelTarget(
                panel["title"],
                target["refId"],
                substituted(target["expr"], words),
                target.get("legendFormat", ""),
                bool(target.get("instant")),
                target["format"] == "table",
                own.step,
            )


def legend(asked: PanelTarget, labels: Mapping[str, str]) -> str:
    return _LEGEND.sub(lambda match: labels.get(match[1], ""), asked.legend)


def answered(
    asked: PanelTarget, server: PrometheusQueries, span: QueryRange
) -> list[dict[str, Any]]:
    """Return the series of one query, as a panel receives them."""
    if asked.instant:
        return server.query(asked.expr, span.end)
    return server.range(asked.expr, span.start, span.end, asked.step)
