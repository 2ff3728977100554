"""Pages of the vocabulary: metrics, events, faults, findings, and the incident's JSON Schema."""

import json
from itertools import groupby

from rankscope.vocabulary import events, faults, findings, incident_schema, metrics
from rankscope.vocabulary.faults import FaultKind

from .tables import NOTE, code, table

_CADENCE = {
    "step": "every step",
    "period": "every 5 s",
    "info": "at start, then every 10 min",
    "sample": "single operations",
}


def metrics_page() -> str:
    """Return docs/reference/metrics.md."""
    text = NOTE + (
        "# Metrics\n\n"
        "Every metric by its OpenTelemetry name, and as Prometheus sees it on an agent's\n"
        "`/metrics`. Counters are cumulative and monotonic; everything else is a gauge.\n"
        "Attributes in brackets may be missing; `source` and `quality` may stand on any point.\n"
    )
    rows = list(metrics.catalogue().values())
    for family, members in groupby(rows, key=lambda metric: metric.name.partition(".")[0]):
        text += f"\n## {family}\n\n"
        text += table(
            ("metric", "unit", "kind", "how often", "attributes", "meaning", "in Prometheus"),
            (
                (
                    code(metric.name),
                    code(metric.unit),
                    metric.kind,
                    _CADENCE[metric.cadence],
                    _attributes(metric),
                    metric.help,
                    code(metric.prometheus_name),
                )
                for metric in members
            ),
        )
    return text


def _attributes(metric: metrics.ContractMetric) -> str:
    def one(name: str) -> str:
        values = metric.values.get(name)
        return f"`{name}`" + (f" = {', '.join(values)}" if values else "")

    named = [one(name) for name in metric.attributes]
    return ", ".join(named + [f"[{one(name)}]" for name in metric.optional])


def events_page() -> str:
    """Return docs/reference/events.md."""
    return (
        NOTE
        + "# Events\n\nOTLP log records; the name is the record's event name (or its attribute\n"
        + "`event.name`).\n\n"
        + table(
            ("event", "attributes", "meaning"),
            (
                (
                    code(kind.name),
                    ", ".join(
                        f"`{name}`"
                        + (f" = {', '.join(kind.values[name])}" if name in kind.values else "")
                        for name in kind.attributes
                    ),
                    kind.help,
                )
                for kind in events.catalogue().values()
            ),
        )
    )


def faults_page() -> str:
    """Return docs/reference/faults.md."""
    text = NOTE + (
        "# Faults\n\n"
        "What a hypothesis can name as the cause. Severity is the usual one: critical = training\n"
        "is stopped, corrupted or about to be; warning = it loses time or will fail; info never\n"
        "pages. Each leads to its runbook: what to do about a cause that Rankscope named.\n"
    )
    rows = list(faults.catalogue().values())
    for family, members in groupby(rows, key=lambda kind: kind.id.partition(".")[0]):
        text += f"\n## {family}\n\n"
        text += table(
            ("fault", "points at", "severity", "title", "meaning"),
            (
                (
                    _with_runbook(kind),
                    ", ".join(kind.entities),
                    kind.severity,
                    kind.title,
                    kind.help,
                )
                for kind in members
            ),
        )
    return text


def _with_runbook(kind: FaultKind) -> str:
    return f"[{code(kind.id)}](../runbooks/{kind.id}.md)"


def findings_page() -> str:
    """Return docs/reference/findings.md."""
    return (
        NOTE
        + "# Findings\n\nWhat detectors may say. A symptom opens an incident; the others are\n"
        + "evidence for causes. Findings of one family are signs of one thing and count once.\n\n"
        + table(
            ("finding", "family", "symptom", "points at", "needs one of", "meaning"),
            (
                (
                    code(kind.kind),
                    kind.family,
                    "yes" if kind.symptom else "",
                    ", ".join(kind.entities),
                    ", ".join(code(name) for name in kind.signals),
                    kind.help,
                )
                for kind in findings.catalogue().values()
            ),
        )
    )


def incident_schema_text() -> str:
    """Return docs/reference/incident.schema.json."""
    return json.dumps(incident_schema.schema(), indent=2) + "\n"
