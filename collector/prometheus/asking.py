"""One question to a store: bounded in time and bytes, and every way it can fail has a name."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from ..settings.prometheus import PrometheusSettings
from . import matrices

Reason = Literal[
    "connection", "timeout", "rate_limited", "unavailable", "forbidden", "status", "not_json",
    "refused", "too_large",
]  # fmt: skip
REASONS: tuple[Reason, ...] = (
    "connection", "timeout", "rate_limited", "unavailable", "forbidden", "status", "not_json",
    "refused", "too_large",
)  # fmt: skip
_LONGEST_WAIT_SECONDS = 300.0
_QUOTED = 200


class StoreQueryError(Exception):
    """A question that was not answered; `wait_seconds`: not to be asked again before."""

    def __init__(self, reason: Reason, text: str, *, wait_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.reason = reason
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The series of an answer, as the store wrote them, and what it warned of."""

    result: list[dict[str, Any]]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RangeResult:
    """The samples of an answer, row by row as the store wrote them, and what it warned of."""

    rows: matrices.MatrixRows
    warnings: tuple[str, ...] = ()


class PrometheusClient:
    """Asks one store, over one connection that is kept."""

    def __init__(
        self, settings: PrometheusSettings, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._client = settings.client({"Accept": "application/json"})

    def close(self) -> None:
        self._client.close()

    def query(self, expression: str, at: float) -> QueryResult:
        """Return the answer to an instant query. Raises StoreQueryError."""
        response, body = self._post(expression, at)
        try:
            found = json.loads(body)
        except ValueError:
            raise _not_json(response) from None
        _check(response, body)
        data = found.get("data") if isinstance(found, dict) else None
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list):
            raise _no_result()
        return QueryResult(result, _warnings(found))

    def samples(self, selector: str, at: float) -> RangeResult:
        """Return the answer to a query for a range of samples. Raises StoreQueryError."""
        response, body = self._post(selector, at)
        try:
            found, rows = matrices.split(body)
        except ValueError:
            raise _not_json(response) from None
        _check(response, body)
        if rows is None:
            raise _no_result()
        return RangeResult(rows, _warnings(found))

    def _post(self, expression: str, at: float) -> tuple[httpx.Response, bytes]:
        """Ask, and return an answer that the store itself may have given, and its body."""
        until = self._monotonic() + self._settings.timeout_seconds
        form = {"query": expression, "time": f"{at:.3f}"}
        try:
            with self._client.stream(
                "POST", f"{self._settings.url}/api/v1/query", data=form
            ) as response:
                body = self._body(response, until)
        except httpx.TimeoutException:
            raise self._slow() from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise StoreQueryError("connection", f"cannot be reached: {error}") from None
        if response.status_code in (429, 503) or response.status_code >= 500:
            reason: Reason = "rate_limited" if response.status_code == 429 else "unavailable"
            raise StoreQueryError(
                reason,
                f"HTTP {response.status_code}{_error(body)}",
                wait_seconds=_retry_after(response),
            )
        if response.status_code in (401, 403):
            raise StoreQueryError(
                "forbidden", f"HTTP {response.status_code}: check token and tenant"
            )
        return response, body

    def _body(self, response: httpx.Response, until: float) -> bytes:
        """Read an answer within its bounds; one that drips is as slow as one that never comes."""
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > self._settings.max_bytes:
                raise StoreQueryError(
                    "too_large",
                    f"an answer is larger than {self._settings.max_bytes} bytes: lower "
                    "page_series, add matchers, or raise max_bytes",
                )
            if self._monotonic() > until:
                raise self._slow()
            parts.append(part)
        return b"".join(parts)

    def _slow(self) -> StoreQueryError:
        return StoreQueryError("timeout", f"no answer within {self._settings.timeout_seconds:g} s")


def _not_json(response: httpx.Response) -> StoreQueryError:
    kind = response.headers.get("content-type", "").partition(";")[0] or "no content type"
    return StoreQueryError(
        "not_json",
        f"HTTP {response.status_code} with {kind}, not JSON: is this the address of the "
        "Prometheus API, without a login before it?",
    )


def _no_result() -> StoreQueryError:
    return StoreQueryError("not_json", "the JSON is not an answer of the Prometheus API")


def _check(response: httpx.Response, body: bytes) -> None:
    """Raise StoreQueryError for JSON that comes with a status other than 200."""
    if response.status_code in (400, 422):
        raise StoreQueryError("refused", f"the query was refused{_error(body)}")
    if response.status_code != 200:
        raise StoreQueryError("status", f"HTTP {response.status_code}{_error(body)}")


def _warnings(found: Any) -> tuple[str, ...]:
    noted = found.get("warnings")
    warnings = [str(one)[:_QUOTED] for one in noted] if isinstance(noted, list) else []
    if found.get("isPartial"):  # VictoriaMetrics
        warnings.append("the answer is partial")
    return tuple(warnings)


def _error(body: bytes) -> str:
    """Return what the store wrote of an error, short, "" where it wrote nothing readable."""
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    text = found.get("error") if isinstance(found, dict) else None
    return f": {str(text)[:_QUOTED]}" if text else ""


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds of Retry-After, 0 where there is none or a date stands there."""
    text = response.headers.get("retry-after", "").strip()
    return min(float(text), _LONGEST_WAIT_SECONDS) if text.isdecimal() else 0.0


def parted(alternatives: Sequence[str], most: int, joint: int) -> Iterator[list[str]]:
    """Yield what fits into one query each: `most` bytes, `joint` more for each alternative."""
    part: list[str] = []
    length = 0
    for one in alternatives:
        if part and length + len(one) > most:
            yield part
            part, length = [], 0
        part.append(one)
        length += len(one) + joint
    if part:
        yield part
