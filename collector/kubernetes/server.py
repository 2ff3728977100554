"""The two writes to a Kubernetes API server, and what its answers mean."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

import httpx

from ..settings.kubernetes import KubernetesSettings
from .connection import ServerConnection, passing, reason

Outcome = Literal["written", "refused", "again"]
"""written: it is there. refused: trying again changes nothing. again: later."""

_EXISTS = 409


class KubernetesApi:
    """What is written back to an API server."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._connection = ServerConnection(settings.server, settings.credentials)
        self.error = ""
        """What the last answer was, where it was none of `written`."""

    def patch_status(self, node: str, body: Mapping[str, Any]) -> Outcome:
        return self._send(
            "PATCH",
            f"/api/v1/nodes/{quote(node, safe='')}/status",
            body,
            "application/strategic-merge-patch+json",
        )

    def create_event(self, body: Mapping[str, Any]) -> Outcome:
        """Write an event; one that is there already counts as written."""
        path = f"/api/v1/namespaces/{body['metadata']['namespace']}/events"
        return self._send("POST", path, body, "application/json", exists=True)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def _send(
        self, method: str, path: str, body: Mapping[str, Any], kind: str, *, exists: bool = False
    ) -> Outcome:
        try:
            answer = self._connection.ask(method, path, body, kind=kind)
        except (httpx.HTTPError, OSError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}"
            return "again"
        if answer.is_success or (exists and answer.status_code == _EXISTS):
            return "written"
        self.error = f"{answer.status_code}: {reason(answer)}"
        return "again" if passing(answer) else "refused"
