"""Prometheus rules: the shapes of a rule, and the text of a file that Prometheus loads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

Severity = Literal["critical", "warning", "info"]


VALUE = "{{ $value | humanize }}"
SECONDS = "{{ $value | humanizeDuration }}"
PERCENT = "{{ $value | humanizePercentage }}"
"""How an alert's text shows the value of its series."""


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """A series computed once for all who ask: level:metric:operation."""

    record: str
    expr: str

    def document(self) -> dict[str, Any]:
        """Return it as Prometheus reads it."""
        return {"record": self.record, "expr": self.expr}


@dataclass(frozen=True, slots=True)
class AlertRule:
    """An alert. `summary` and `description` are templates; `lasts` is how long it must be so."""

    name: str
    expr: str
    lasts: str
    severity: Severity
    summary: str
    description: str
    dashboard: str

    def document(self) -> dict[str, Any]:
        """Return it as Prometheus reads it."""
        found: dict[str, Any] = {"alert": self.name, "expr": self.expr}
        if self.lasts:
            found["for"] = self.lasts
        found["labels"] = {"severity": self.severity}
        found["annotations"] = {
            "summary": self.summary,
            "description": self.description,
            "dashboard": f"/d/{self.dashboard}",
        }
        return found


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that are evaluated together, in order."""

    name: str
    rules: Sequence[RecordingRule | AlertRule]

    def document(self) -> dict[str, Any]:
        """Return it as Prometheus reads it."""
        return {"name": self.name, "rules": [rule.document() for rule in self.rules]}


class _PlainDumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _written(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _written)


def as_yaml(document: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a document as YAML, keys in their order, long texts on one line."""
    return yaml.dump(
        document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=10_000
    )


def file(groups: Sequence[RuleGroup]) -> dict[str, Any]:
    return {"groups": [group.document() for group in groups]}
