"""A connection to a Kubernetes API server: its authority, its token, JSON both ways."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

_TIMEOUT_SECONDS = 10.0
_PASSING = (401, 408, 409, 429)
"""401: the token was just rotated. 409: somebody else wrote at the same time."""


class ServerConnection:
    """An API server. The token is read for every request: Kubernetes rotates it."""

    def __init__(self, server: str, credentials: Path) -> None:
        self._token = credentials / "token"
        authority = credentials / "ca.crt"
        self._client = httpx.Client(
            base_url=server,
            verify=ssl.create_default_context(cafile=str(authority))
            if authority.is_file()
            else True,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,  # a proxy is no way to the API server
            follow_redirects=False,
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Return the answer, whatever it is. Raises httpx.HTTPError, OSError or ValueError."""
        token = self._token.read_text(encoding="ascii").strip()
        return self._client.request(
            method,
            path,
            json=body,
            params=query,
            headers={"authorization": f"Bearer {token}", "content-type": kind},
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def reason(answer: httpx.Response) -> str:
    """Return the message of a Status object."""
    try:
        found = answer.json()
    except ValueError:
        return answer.reason_phrase
    message = found.get("message") if isinstance(found, dict) else None
    return str(message or answer.reason_phrase)[:300]


def passing(answer: httpx.Response) -> bool:
    """Return whether the same request may be answered otherwise later: a refusal that passes."""
    return answer.status_code in _PASSING or answer.is_server_error
