"""/incidents/{id}/recording: the incident's telemetry, cut out of what is held."""

import json
import threading
from collections.abc import Generator
from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from ....vocabulary.ids import IncidentId
from ...history.journal_reader import JournalRangeError, JournalReader
from ...recordings import cut
from ...recordings.truth import truth
from ..auth import TokenGuard, TokenPrincipal
from ..parameters import QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from .incidents import finding

TRUTH_HEADER = "rankscope-truth"


class RecordingQuery(QueryParameters):
    """How much, and whether names are replaced."""

    before_seconds: Annotated[float, Field(ge=0, le=86_400)] = cut.BEFORE_SECONDS
    after_seconds: Annotated[float, Field(ge=0, le=86_400)] = cut.AFTER_SECONDS
    anonymise: bool = False


def router(services: CollectorParts, guard: TokenGuard, held: JournalReader) -> APIRouter:
    """Return the route: only for tokens that are not limited to some jobs.

    Hosts are shared, and what a host reports about itself belongs to no job.
    """
    routes = APIRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    find = finding(services.store)
    cutting = threading.Lock()  # one at a time: it takes CPU time that evaluation needs

    @routes.get(
        "/incidents/{incident:encoded}/recording",
        summary="Get an incident's telemetry as OTLP JSON lines",
        response_class=StreamingResponse,
        responses={
            200: {
                "content": {"application/x-ndjson": {}},
                "description": f"OTLP JSON lines; the header {TRUTH_HEADER} holds, as JSON, what "
                "people said that it was",
            }
        },
    )
    def recording(
        incident: str, principal: reader, query: Annotated[RecordingQuery, Query()]
    ) -> StreamingResponse:
        principal.check_unlimited()
        document = find(IncidentId(incident), principal)
        wanted = cut.JournalRange.of(
            document, before_seconds=query.before_seconds, after_seconds=query.after_seconds
        )
        if not cutting.acquire(blocking=False):
            detail = "another recording is being cut out; try again when it is done"
            raise ProblemError(503, detail, headers={"retry-after": "30"})
        using = ExitStack()
        using.callback(cutting.release)
        try:
            between = held.between(wanted.jobs, wanted.start, wanted.end)
            made = cut.JournalCut(using.enter_context(between), wanted, anonymise=query.anonymise)
            lines = _bytes(made, using)
            next(lines)
        except cut.CutError as error:
            using.close()
            raise ProblemError(404, str(error)) from error
        except JournalRangeError as error:
            using.close()
            raise ProblemError(503, str(error), headers={"retry-after": "5"}) from error
        except BaseException:
            using.close()
            raise
        return StreamingResponse(
            lines,
            media_type="application/x-ndjson",
            headers={TRUTH_HEADER: json.dumps(truth(document, made.names))},
        )

    return routes


def _bytes(made: cut.JournalCut, using: ExitStack) -> Generator[bytes, None, None]:
    """Yield nothing first: whoever has taken that may drop the rest at any time."""
    try:
        yield b""
        for line in made.lines():
            yield line.encode() + b"\n"
    finally:
        using.close()
