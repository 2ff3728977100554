"""Requests about a job or a host are answered by the collector that has its partition.

Every collector answers for all: lists of incidents come from the database, jobs from what the
owners send; the windows of a job are with one collector only, so a request for them is passed on to
it with the token it came with. A request that was passed on is never passed on again.
"""

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import httpx
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..api import problems
from ..api.pages import cut
from . import names
from .stages import ClusterStages, MovingError, asked

PASSED_ON = "rankscope-passed-on"
_JOB = re.compile(r"/api/v1/jobs/([^/]+)(?:/.*)?")
_HOST = re.compile(r"/api/v1/hosts/([^/]+)(?:/.*)?")
_BY_QUERY = ("/api/v1/topology", "/api/v1/root-cause")
_LISTS = {"/api/v1/hosts": "host", "/api/v1/targets": ""}
"""Lists of which each collector has a part, and what tells their items apart."""
_ALONE = re.compile(r"/api/v1/(profiles|agents)(/.*)?|/api/v1/incidents/[^/]+/recording")
"""What needs the files of one collector."""
_SECONDS = 15.0
_KEPT = ("authorization", "accept", "if-none-match")
_PASSED_BACK = ("content-type", "etag", "retry-after", "www-authenticate", "cache-control")


class Gateway:
    """Passes requests on to the owner of their partition."""

    def __init__(self, app: ASGIApp, stages: ClusterStages) -> None:
        self._app = app
        self._stages = stages
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = await self._elsewhere(scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except MovingError as error:
            await _moving(str(error))(scope, receive, send)

    async def _elsewhere(self, scope: Scope) -> Response | None:
        """Return another collector's answer; None where this one is to answer."""
        raw = scope.get("raw_path") or scope["path"].encode()
        path = raw.partition(b"?")[0].decode("latin-1")
        if _ALONE.fullmatch(path):
            return problems.answer(
                501, "several collectors share the log: this needs the files of a single one"
            )
        passed_on = any(name == PASSED_ON.encode() for name, _ in scope["headers"])
        if path in _LISTS and not passed_on and scope["method"] == "GET":
            return await self._merged(scope, path)
        partition = self._partition(scope, path)
        if partition is None:
            return None
        found = self._stages.find(partition)
        if found.local:
            asked.set(partition)
            return None if found.ready else _moving("the job's state is being restored here")
        if not found.address or passed_on:
            return _moving("the job's partition is moving to another collector")
        return await self._ask(found.address, scope, path)

    def _partition(self, scope: Scope, path: str) -> int | None:
        if match := _JOB.fullmatch(path):
            return names.of_job(unquote(match[1]), self._stages.partitions)
        if match := _HOST.fullmatch(path):
            return self._stages.partition_of_host(unquote(match[1]))
        if path in _BY_QUERY:
            query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            job = query.get("job")
            return None if job is None else names.of_job(job, self._stages.partitions)
        return None

    async def _ask(self, address: str, scope: Scope, path: str) -> Response:
        try:
            answer = await self._get(address, scope, path)
        except httpx.HTTPError:
            return _moving(f"the collector at {address} that has this job does not answer")
        headers = {name: value for name, value in answer.headers.items() if name in _PASSED_BACK}
        return Response(answer.content, status_code=answer.status_code, headers=headers)

    async def _merged(self, scope: Scope, path: str) -> Response | None:
        """Return a list with what every collector has; None where there is no other."""
        others = self._stages.others()
        if not others:
            return None
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as own:
            answers = await asyncio.gather(
                own.request("GET", _target(scope, path), headers=_headers(scope)),
                *(self._get(address, scope, path) for address in others),
                return_exceptions=True,
            )
        mine = answers[0]
        if isinstance(mine, BaseException):
            raise mine
        if mine.status_code != 200:
            return Response(
                mine.content,
                status_code=mine.status_code,
                headers={k: v for k, v in mine.headers.items() if k in _PASSED_BACK},
            )
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        found = [
            one.json()
            for one in answers
            if isinstance(one, httpx.Response) and one.status_code == 200
        ]
        whole = _together(found, _LISTS[path])
        if isinstance(whole, dict):
            limit = query.get("limit")
            page, after = cut(
                whole["items"],
                limit=None if limit is None else int(limit),
                cursor=query.get("cursor"),
            )
            whole = {"items": page, "next_cursor": after}
        return JSONResponse(whole)

    async def _get(self, address: str, scope: Scope, path: str) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_SECONDS, trust_env=False)
        headers = {**_headers(scope), PASSED_ON: "1"}
        return await self._client.request(
            scope["method"], address + _target(scope, path), headers=headers
        )


def _headers(scope: Scope) -> dict[str, str]:
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name.decode("latin-1") in _KEPT
    }


def _target(scope: Scope, path: str) -> str:
    query = scope["query_string"].decode("latin-1")
    if path in _LISTS:
        query = urlencode([row for row in parse_qsl(query) if row[0] not in ("limit", "cursor")])
    return f"{path}?{query}" if query else path


def _moving(detail: str) -> Response:
    return problems.answer(503, detail, headers={"retry-after": "2"})


def _together(found: Iterable[Any], key: str) -> Any:
    """Return lists as one, an item that several have once: the one received last."""
    if not key:
        rows = {json.dumps(row, sort_keys=True): row for part in found for row in part}
        return [rows[text] for text in sorted(rows)]
    items: dict[str, dict[str, Any]] = {}
    for part in found:
        for row in part["items"]:
            held = items.get(row[key])
            if held is None:
                items[row[key]] = row
                continue
            newer = max(held, row, key=lambda one: str(one["last_received"]))
            items[row[key]] = {**newer, "ranks": {**held["ranks"], **row["ranks"]}}
    return {"items": [items[name] for name in sorted(items)], "next_cursor": None}
