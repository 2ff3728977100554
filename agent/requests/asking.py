"""What the agent asks of its collector, and what it uploads there: plain HTTP, a request each."""

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ..open_file import OpenFile

_LARGEST = 256 << 10
"""Bytes of an answer that are read."""


class CollectorCallError(Exception):
    """The collector did not answer, or refused; `status` is None without an answer."""

    def __init__(self, text: str, *, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class RequestClient:
    """The collector that the agent pushes to."""

    def __init__(
        self, endpoint: str, *, timeout: float, token: str = "", ca_file: Path | None = None
    ) -> None:
        parts = urlsplit(endpoint)
        self._host, self._port = parts.hostname or "", parts.port
        self._path = f"{parts.path.rstrip('/')}/api/v1"
        self._timeout = timeout
        self._tls = None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._headers = {"User-Agent": "rankscope-agent", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def requests(self, host: str) -> list[Any]:
        """Return which profiles are asked of a host, as the collector wrote it.

        Raises CollectorCallError.
        """
        return self._asked(host, "profiles")

    def checks(self, host: str) -> list[Any]:
        """Return which checks are asked of a host. Raises CollectorCallError."""
        return self._asked(host, "checks")

    def launcher_orders(self, host: str) -> list[Any]:
        """Return which ranks of torchrun are to end on a host. Raises CollectorCallError."""
        return self._asked(host, "launchers")

    def launcher_answer(self, host: str, action: str, *, done: bool, text: str) -> None:
        """Say what was done of an order, or why nothing was. Raises CollectorCallError."""
        path = f"/agents/{quote(host, safe='')}/launchers/{quote(action, safe='')}"
        body = json.dumps({"state": "done" if done else "refused", "text": text}).encode()
        self._ask("POST", path, body, {"Content-Type": "application/json"})

    def _asked(self, host: str, what: str) -> list[Any]:
        answer = self._ask("GET", f"/agents/{quote(host, safe='')}/requests?what={what}")
        try:
            items = json.loads(answer)["items"]
        except (ValueError, KeyError, TypeError) as error:
            raise CollectorCallError(f"the answer is not a list of requests: {error!r}") from error
        if not isinstance(items, list):
            raise CollectorCallError("the answer is not a list of requests")
        return items

    def upload(
        self, identity: str, rank: int, trace: OpenFile, size: int, *, steps: int, seconds: float
    ) -> None:
        """Send a trace of so many bytes. Raises CollectorCallError."""
        path = f"/profiles/{quote(identity, safe='')}/ranks/{rank}/trace"
        headers = {"Content-Type": "application/gzip", "Content-Length": str(size)}
        self._ask("PUT", f"{path}?steps={steps}&seconds={seconds:.6f}", trace, headers)

    def refuse(self, identity: str, rank: int, text: str) -> None:
        """Say why there will be no trace. Raises CollectorCallError."""
        path = f"/profiles/{quote(identity, safe='')}/ranks/{rank}/failure"
        body = json.dumps({"text": text}).encode()
        self._ask("POST", path, body, {"Content-Type": "application/json"})

    def refuse_check(self, identity: str, text: str) -> None:
        """Say why a check is not run. Raises CollectorCallError."""
        path = f"/checks/requests/{quote(identity, safe='')}/failure"
        body = json.dumps({"text": text}).encode()
        self._ask("POST", path, body, {"Content-Type": "application/json"})

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | OpenFile | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._tls
            )
        try:
            connection.request(
                method, self._path + path, body, {**self._headers, **(headers or {})}
            )
            response = connection.getresponse()
            answer = response.read(_LARGEST)
        except (OSError, http.client.HTTPException) as error:
            raise CollectorCallError(f"the collector does not answer: {error}") from error
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise CollectorCallError(
                f"the collector answered {response.status}", status=response.status
            )
        return answer
