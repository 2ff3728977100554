"""Requests about a job or a host are answered by the collector that has its partition.

Every collector answers for all: lists of incidents come from the database, jobs from what the
owners send; the windows of a job are with one collector only, so a request for them is passed on to
it with the token it came with. A request that was passed on is never passed on again.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote, urlencode

import httpx
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..api import problems
from ..api.pages import cut
from . import lists, names
from .owners import MovingError, PartitionOwners, asked

PASSED_ON = "rankscope-passed-on"
_JOB = re.compile(r"/api/v1/jobs/([^/]+)(?:/.*)?")
_HOST = re.compile(r"/api/v1/hosts/([^/]+)(?:/.*)?")
_BY_QUERY = ("/api/v1/topology", "/api/v1/root-cause")
_PROFILES = "/api/v1/profiles"
"""Asked for with POST: the job is in the body."""
_MOST_BYTES = 1 << 16
"""Of such a body."""
_SECONDS = 15.0
_KEPT = ("authorization", "accept", "content-type", "if-none-match")
_PASSED_BACK = ("content-type", "etag", "retry-after", "www-authenticate", "cache-control")


class OwnerGateway:
    """Passes requests on to the owner of their partition."""

    def __init__(self, app: ASGIApp, owners: PartitionOwners) -> None:
        self._app = app
        self._owners = owners
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = b""
        if _path(scope) == _PROFILES and scope["method"] == "POST":
            body, receive = await _read(receive)
        answer = await self._elsewhere(scope, body)
        if answer is not None:
            await answer(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except MovingError as error:
            await _moving(str(error))(scope, receive, send)

    async def _elsewhere(self, scope: Scope, body: bytes) -> Response | None:
        """Return another collector's answer; None where this one is to answer."""
        path = _path(scope)
        passed_on = any(name == PASSED_ON.encode() for name, _ in scope["headers"])
        reads = scope["method"] == "GET"
        if path in lists.LISTS and reads and not passed_on:
            return await self._merged(scope, path, self._owners.others())
        if match := _HOST.fullmatch(path):
            numbers = self._owners.partitions_of_host(unquote(match[1]))
        else:
            number = self._partition(scope, path, body)
            numbers = frozenset(() if number is None else (number,))
        owners = [self._owners.find(number) for number in sorted(numbers)]
        mine = [one for one in owners if one.local]
        if mine and not all(one.ready for one in mine):
            return _moving("the job's state is being restored here")
        others = sorted({one.address for one in owners if not one.local})
        if passed_on and mine:
            others = []  # whoever passed it on asks the others
        if "" in others or (others and passed_on):
            return _moving("the job's partition is moving to another collector")
        if not others:
            if len(numbers) == 1:
                asked.set(*numbers)
            return None
        if mine or len(others) > 1:
            return await self._merged(scope, path, others, here=bool(mine))
        return await self._ask(others[0], scope, path, body)

    def _partition(self, scope: Scope, path: str, body: bytes) -> int | None:
        if body:
            return _of_asked_job(body, self._owners.partitions)
        if match := _JOB.fullmatch(path):
            return names.of_job(unquote(match[1]), self._owners.partitions)
        if path in _BY_QUERY:
            query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            job = query.get("job")
            return None if job is None else names.of_job(job, self._owners.partitions)
        return None

    async def _ask(self, address: str, scope: Scope, path: str, body: bytes) -> Response:
        try:
            answer = await self._get(address, scope, path, body)
        except httpx.HTTPError:
            return _moving(f"the collector at {address} that has this job does not answer")
        return _passed_back(answer)

    async def _merged(
        self, scope: Scope, path: str, others: Sequence[str], *, here: bool = True
    ) -> Response | None:
        """Return what several have as one answer; None where there is no other.

        Whoever does not answer, or has nothing of it, is left out.
        """
        if not others:
            return None
        work = [self._get(address, scope, path) for address in others]
        if here:
            work.insert(0, self._own(scope, path))
        answers = await asyncio.gather(*work, return_exceptions=True)
        given = [one for one in answers if isinstance(one, httpx.Response)]
        if not given:
            return _moving("the collectors that have it do not answer")
        good = [one for one in given if one.status_code == 200]
        first = given[0]
        if not good or first.status_code in (400, 401, 403):
            return _passed_back(first)
        join = lists.LISTS.get(path) or lists.of_host(path)
        whole = join([one.json() for one in good])
        if "next_cursor" in whole:
            query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            limit = query.get("limit")
            page, after = cut(
                whole["items"],
                limit=None if limit is None else int(limit),
                cursor=query.get("cursor"),
            )
            whole = {"items": page, "next_cursor": after}
        return JSONResponse(whole)

    async def _own(self, scope: Scope, path: str) -> httpx.Response:
        """Return what this collector answers for its partitions."""
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as own:
            return await own.request("GET", _target(scope, path), headers=_headers(scope))

    async def _get(
        self, address: str, scope: Scope, path: str, body: bytes = b""
    ) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_SECONDS, trust_env=False)
        headers = {**_headers(scope), PASSED_ON: "1"}
        return await self._client.request(
            scope["method"], address + _target(scope, path), headers=headers, content=body
        )


def _path(scope: Scope) -> str:
    raw = scope.get("raw_path") or scope["path"].encode()
    return bytes(raw).partition(b"?")[0].decode("latin-1")


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """Return a small body (empty for a large one), and what gives it to the application again."""
    held: list[Message] = []
    size = 0
    while not held or (held[-1].get("more_body") and size <= _MOST_BYTES):
        held.append(await receive())
        size += len(held[-1].get("body", b""))
    whole = b"".join(one.get("body", b"") for one in held) if size <= _MOST_BYTES else b""
    left = iter(held)

    async def again() -> Message:
        for one in left:
            return one
        return await receive()

    return whole, again


def _of_asked_job(body: bytes, partitions: int) -> int | None:
    """Return the partition of the job that a profile is asked for, None where it names none."""
    try:
        job = json.loads(body)["job"]
    except (ValueError, KeyError, TypeError):
        return None  # the application says what is wrong with it
    return names.of_job(job, partitions) if isinstance(job, str) else None


def _headers(scope: Scope) -> dict[str, str]:
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name.decode("latin-1") in _KEPT
    }


def _target(scope: Scope, path: str) -> str:
    query = scope["query_string"].decode("latin-1")
    if path in lists.LISTS:
        query = urlencode([row for row in parse_qsl(query) if row[0] not in ("limit", "cursor")])
    return f"{path}?{query}" if query else path


def _moving(detail: str) -> Response:
    return problems.answer(503, detail, headers={"retry-after": "2"})


def _passed_back(answer: httpx.Response) -> Response:
    headers = {name: value for name, value in answer.headers.items() if name in _PASSED_BACK}
    return Response(answer.content, status_code=answer.status_code, headers=headers)
