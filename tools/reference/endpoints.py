"""The page of the HTTP API, read from the collector's own OpenAPI description."""

from collections.abc import Mapping
from typing import Any, cast

from rankscope.collector.api.app import create_app
from rankscope.collector.api.services import CollectorParts
from rankscope.collector.flows.standalone import StandaloneFlow
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.vocabulary.clock import SystemClock

from .tables import NOTE, code, table

_VERBS = ("get", "post", "put", "patch", "delete")


class _NoStore:
    """Stands where the store would be: to describe routes none of it is used."""

    def subscribe(self, _listener: object, *, everywhere: bool = False) -> None:
        """Take the feed's listener and forget it."""
        del everywhere

    def newest_change(self) -> int:
        """Return that there was none."""
        return 0


def description() -> Mapping[str, Any]:
    """Return the OpenAPI document of the collector."""
    nothing = cast("Any", None)
    services = CollectorParts(
        stages=StandaloneFlow(nothing, history=nothing, profiles=nothing),
        store=cast("IncidentDatabaseStore", _NoStore()),
        settings=CollectorSettings(),
        clock=SystemClock(),
        store_clock=SystemClock(),
        version="any",
    )
    return create_app(services).openapi()


def page() -> str:
    """Return docs/reference/api.md."""
    text = NOTE + (
        "# HTTP API\n\n"
        "The running collector describes itself in full at `/openapi.json`. Times go in as RFC\n"
        "3339 or epoch seconds and come out as RFC 3339; lists are `{items, next_cursor}`; errors\n"
        "are problem documents (RFC 9457). With tokens configured every path but `/healthz`,\n"
        "`/readyz`, `/metrics` and the console asks for one: roles ingest < read < admin.\n"
    )
    document = description()
    groups: dict[str, list[tuple[str, ...]]] = {}
    for path, operations in document["paths"].items():
        for verb in _VERBS:
            if verb in operations:
                operation = operations[verb]
                tag = (operation.get("tags") or ["other"])[0]
                groups.setdefault(tag, []).append(_row(verb, path, operation))
    for tag, rows in groups.items():
        text += f"\n## {tag}\n\n"
        text += table(("request", "does", "query", "answers"), rows)
    return text


def _row(verb: str, path: str, operation: Mapping[str, Any]) -> tuple[str, ...]:
    query = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    statuses = [status for status in operation["responses"] if status.isdecimal()]
    summary = operation.get("summary") or operation.get("description", "").split("\n")[0]
    return (
        code(f"{verb.upper()} {path}"),
        summary,
        ", ".join(code(name) for name in query),
        ", ".join(statuses),
    )
