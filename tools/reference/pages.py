"""What collector and agent show on their /metrics of themselves, and which alerts ask for it."""

import tomllib
from collections.abc import Iterator
from importlib import resources

from rankscope.collector.accounting.families import FAMILIES
from rankscope.collector.cluster.health import ClusterHealth
from rankscope.collector.health.health import CollectorHealth
from rankscope.dashboards.grafana.alerts import ALERTS
from rankscope.dashboards.grafana.rules import AlertRule

from .tables import NOTE, code, table

_HEAD = ("series", "kind", "labels", "meaning")


def page() -> str:
    """Return docs/reference/prometheus.md."""
    rows = [
        (code(one.name), one.kind, _labels(one.labels), f"{one.help} At most {one.most} series.")
        for one in FAMILIES
    ]
    return (
        f"{NOTE}# Series and alerts in Prometheus\n\n"
        "What an agent shows of training, devices and hosts is on the page of "
        "[metrics](metrics.md). Here: the collector's `/metrics`, what each says of its own "
        "health, and the alerts of `deploy/prometheus/rules`.\n"
        "\n## The collector: jobs, incidents, notices\n\n"
        "Jobs without news for a week are left out, whole.\n\n"
        + table(_HEAD, rows)
        + "\n## The collector's own health\n\n"
        + table(_HEAD, _collector())
        + "\n## The agent's own health\n\n"
        + table(_HEAD, _agent())
        + "\n## Alerts\n\n"
        + table(
            ("alert", "severity", "lasts", "when"),
            (
                (code(rule.name), rule.severity, rule.lasts or "at once", code(rule.expr))
                for group in ALERTS
                for rule in group.rules
                if isinstance(rule, AlertRule)
            ),
        )
    )


def _collector() -> Iterator[tuple[str, ...]]:
    # A family without samples does not tell its labels: the client keeps them to itself.
    health = CollectorHealth()
    ClusterHealth(health.registry)
    for family in health.registry.collect():
        end = "_total" if family.type == "counter" else ""
        labels = sorted({name for sample in family.samples for name in sample.labels} - {"le"})
        yield code(family.name + end), family.type, _labels(labels), family.documentation


def _agent() -> Iterator[tuple[str, ...]]:
    text = resources.files("rankscope.agent").joinpath("health.toml").read_text(encoding="utf-8")
    for row in tomllib.loads(text)["metric"]:
        yield code(row["name"]), row["kind"], _labels(row.get("labels", ())), f"{row['help']}."


def _labels(names: object) -> str:
    return ", ".join(code(name) for name in names) if isinstance(names, list | tuple) else ""
