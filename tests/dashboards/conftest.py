"""A browser for the console's tests, and the server that answers as the collector does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.loading import loaded

from . import documents as made_documents
from .collector import Collector


@pytest.fixture(scope="session")
def documents() -> Any:
    """Return tests/dashboards/documents.py: `incident`, `HOOK`, `ONSET`."""
    return made_documents


@pytest.fixture(scope="session")
def chromium(program: Callable[[str], str]) -> Iterator[Any]:
    """Return a running headless Chromium, one for all tests."""
    path = program("chromium")
    tools = loaded(Path(__file__).parents[2] / "tools" / "chromium.py")
    with tools.Chromium(path) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Return the browser on an empty page; scripts that fail fail the test."""
    chromium.open("about:blank")
    chromium.wait("location.href === 'about:blank'")
    chromium.errors.clear()
    yield chromium
    assert [] == chromium.errors


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Return a starter of servers: `serve([incident], token="Bearer x")`."""
    running: list[Any] = []

    def start(incidents: list[dict[str, Any]], **options: Any) -> Any:
        running.append(Collector(incidents, **options))
        return running[-1]

    yield start
    for one in running:
        one.close()
