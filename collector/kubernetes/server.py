"""The two writes to a Kubernetes API server, and what its answers mean."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx

from ..settings.kubernetes import KubernetesSettings

Outcome = Literal["written", "refused", "again"]
"""written: it is there. refused: trying again changes nothing. again: later."""

_TIMEOUT_SECONDS = 10.0
_EXISTS, _AGAIN = 409, (401, 408, 409, 429)
"""401: the token was just rotated. 409 of a patch: somebody else wrote at the same time."""


class KubernetesApi:
    """An API server. The token is read for every request: Kubernetes rotates it."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._token: Path = settings.credentials / "token"
        authority = settings.credentials / "ca.crt"
        self._client = httpx.Client(
            base_url=settings.server,
            verify=ssl.create_default_context(cafile=str(authority))
            if authority.is_file()
            else True,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,  # a proxy is no way to the API server
            follow_redirects=False,
        )
        self.error = ""
        """What the last answer was, where it was none of `written`."""

    def patch_status(self, node: str, body: Mapping[str, Any]) -> Outcome:
        """Set conditions of a node."""
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
        self._client.close()

    def _send(
        self, method: str, path: str, body: Mapping[str, Any], kind: str, *, exists: bool = False
    ) -> Outcome:
        try:
            token = self._token.read_text(encoding="ascii").strip()
            answer = self._client.request(
                method,
                path,
                json=body,
                headers={"authorization": f"Bearer {token}", "content-type": kind},
            )
        except (httpx.HTTPError, OSError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}"
            return "again"
        if answer.is_success or (exists and answer.status_code == _EXISTS):
            return "written"
        self.error = f"{answer.status_code}: {_reason(answer)}"
        if answer.status_code in _AGAIN or answer.is_server_error:
            return "again"
        return "refused"


def _reason(answer: httpx.Response) -> str:
    """Return the message of a Status object."""
    try:
        found = answer.json()
    except ValueError:
        return answer.reason_phrase
    message = found.get("message") if isinstance(found, dict) else None
    return str(message or answer.reason_phrase)[:300]
