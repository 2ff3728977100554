"""Routes that answer with shapes of the vocabulary: its functions write and describe the answers.

An endpoint says in its return annotation, or in `response_model`, what it answers with; it returns
a value of it, several in a list, or a finished response.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast, get_args

from fastapi import APIRouter
from pydantic_core import to_json
from starlette.responses import Response

from ...vocabulary import shapes
from ...vocabulary.shapes import DocumentShape


def component(shape: type[DocumentShape]) -> str:
    """Return the name of a shape among the schemas of OpenAPI."""
    return shape.__name__.removesuffix("Document")


def reference(shape: type[DocumentShape]) -> dict[str, Any]:
    """Return how OpenAPI refers to a shape."""
    return {"$ref": f"#/components/schemas/{component(shape)}"}


def written(answer: Any, status: int = 200) -> Response:
    """Return the response with a shape, or a list of them; one that is ready stays as it is."""
    if isinstance(answer, Response):
        return answer
    several = isinstance(answer, list)
    content = [one.document() for one in answer] if several else answer.document()
    body = to_json(content, inf_nan_mode="null")
    return Response(body, status, media_type="application/json")


class ShapeRouter(APIRouter):
    """A router whose answers are shapes; what answers with something else is FastAPI's own."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        model = more.get("response_model")
        if not _is_shape(model):
            model = inspect.signature(endpoint).return_annotation
        if _is_shape(model):
            status = more.get("status_code") or 200
            schema = shapes.schema(model, reference)
            shown = {status: {"content": {"application/json": {"schema": schema}}}}
            more |= {"response_model": None, "responses": shown}
            endpoint = _writing(endpoint, status)
        super().add_api_route(path, endpoint, **more)


def _is_shape(model: Any) -> bool:
    inner = (get_args(model) or (model,))[0]
    return isinstance(inner, type) and issubclass(inner, DocumentShape)


def _writing(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Return the endpoint whose answers are written, in the thread in which it runs."""
    if inspect.iscoroutinefunction(endpoint):

        @functools.wraps(endpoint)
        async def respond(*args: Any, **given: Any) -> Response:
            return written(await endpoint(*args, **given), status)

        return respond

    @functools.wraps(endpoint)
    def answer(*args: Any, **given: Any) -> Response:
        return written(endpoint(*args, **given), status)

    return cast("Callable[..., Any]", answer)
