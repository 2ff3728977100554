"""The OpenAPI document and the application agree: schemathesis sends what the document allows.

Derandomised and bounded: the same requests on every run. No request may be answered with a 500,
and every answer has a documented status, content type and shape.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi_checks
from tests.examples import examples

from rankscope.collector.api.app import create_app

CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]
EXAMPLES = examples(20)
LEFT_OUT = {"/api/v1/events", "/v1/metrics", "/v1/logs", "/api/v1/write"}
"""A stream without end, and the intake, whose bodies have tests of their own."""

READ = {"/api/v1/jobs", "/api/v1/incidents", "/api/v1/incidents/{incident}", "/api/v1/stats",
        "/api/v1/report", "/api/v1/report.csv", "/api/v1/offenders", "/api/v1/audit",
        "/api/v1/incidents/{incident}/similar", "/api/v1/silences"}  # fmt: skip

schemathesis.serializer.alias("application/gzip", "application/octet-stream")


@pytest.fixture
def existing(opened, store) -> dict[str, str]:
    """Return ids that are there, by the name of their part of a path."""
    return {"incident": opened(), "job": "run-1"}


async def _at_once(_seconds: float) -> None:
    pass


@pytest.fixture
def app(new_services, existing, protected, tmp_path) -> FastAPI:
    return create_app(new_services(data_dir=tmp_path, **protected), sleep=_at_once)


def _operations(app: FastAPI) -> Iterator[Any]:
    for result in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]  # an error would end the test
        if operation.path not in LEFT_OUT:
            yield operation


def _cases(operation: Any) -> st.SearchStrategy[Any]:
    """Return requests that the description allows, and some that it does not."""
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_answer_is_what_the_description_says(app, existing, bearer):
    failed: list[str] = []
    reached: set[str] = set()

    def check(operation: Any) -> None:
        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=_cases(operation), there=st.booleans())
        def answers(case: Any, there: bool) -> None:
            if there:
                found = {name: existing[name] for name in case.path_parameters if name in existing}
                case.path_parameters.update(found)
            answer = case.call_and_validate(headers=bearer("admin"), checks=CHECKS)
            if answer.status_code < 300:
                reached.add(operation.path)

        try:
            answers()
        except Exception as error:  # all of them are to be seen at once
            failed.append(f"{operation.method.upper()} {operation.path}: {error}")

    for operation in _operations(app):
        check(operation)
    assert [] == failed
    assert READ <= reached  # not all were refused
