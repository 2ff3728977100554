"""The demo's questions to the collector, through its public API and nothing else."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, cast


class DemoClient:
    """Asks one collector. What cannot be asked right now (it starts, it is busy) is None."""

    def __init__(self, address: str, token: str = "", *, timeout_seconds: float = 5.0) -> None:
        """Ask the collector at this base URL, with a token of role read where it needs one."""
        self.address = address
        self._timeout_seconds = timeout_seconds
        # Straight to this machine: a proxy in the environment is for the world outside.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        if token:
            self._opener.addheaders.append(("Authorization", f"Bearer {token}"))

    def ready(self) -> bool:
        """Tell whether the collector takes telemetry."""
        return self._get("/readyz", as_json=False) is not None

    def ranks(self, job: str) -> list[dict[str, Any]]:
        """Return what the collector has of a job's ranks."""
        found = self._get(f"/api/v1/jobs/{urllib.parse.quote(job, safe='')}/ranks")
        return cast("list[dict[str, Any]]", found["items"]) if found else []

    def step_seconds(self, job: str) -> float | None:
        """Return the job's recent median step time."""
        found = self._get(f"/api/v1/jobs/{urllib.parse.quote(job, safe='')}")
        return cast("float | None", found["step_seconds"]) if found else None

    def incidents(self, job: str) -> list[dict[str, Any]]:
        """Return the job's incident documents."""
        found = self._get(f"/api/v1/incidents?job={urllib.parse.quote(job, safe='')}")
        return cast("list[dict[str, Any]]", found["items"]) if found else []

    def incident(self, incident_id: str) -> dict[str, Any] | None:
        found = self._get(f"/api/v1/incidents/{urllib.parse.quote(incident_id, safe='')}")
        return cast("dict[str, Any] | None", found)

    def observations(self, job: str) -> list[dict[str, Any]]:
        """Return what was seen of the job that is no incident."""
        found = self._get(f"/api/v1/observations?job={urllib.parse.quote(job, safe='')}")
        return cast("list[dict[str, Any]]", found["items"]) if found else []

    def ask(self, path: str) -> Any:
        """Return what the collector answers at a path."""
        return self._get(path)

    def send(self, path: str, body: bytes, kind: str) -> int:
        """Return the status with which the collector answers a payload of this content type."""
        request = urllib.request.Request(  # noqa: S310  the collector's own address
            self.address + path, data=body, headers={"content-type": kind}
        )
        try:
            with self._opener.open(request, timeout=self._timeout_seconds) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def _get(self, path: str, *, as_json: bool = True) -> Any:
        try:
            with self._opener.open(self.address + path, timeout=self._timeout_seconds) as answer:
                body = answer.read()
            return json.loads(body) if as_json else body
        except (OSError, ValueError, http.client.HTTPException):
            return None  # refused, slow, or killed while it answered
