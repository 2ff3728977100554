"""A browser for the console's tests, and the server that answers as the collector does."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from . import documents as made_documents
from .collector import Collector


def _load(path: Path) -> ModuleType:
    """Return a module by its file: tools are no package that is installed."""
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_of_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load() -> Callable[[Path], ModuleType]:
    """Return a function that gives a module by its file."""
    return _load


@pytest.fixture(scope="session")
def documents() -> Any:
    """Return tests/dashboards/documents.py: `incident`, `HOOK`, `ONSET`."""
    return made_documents


@pytest.fixture(scope="session")
def chromium(program: Callable[[str], str]) -> Iterator[Any]:
    """Return a running headless Chromium, one for all tests."""
    path = program("chromium")
    tools = _load(Path(__file__).parents[2] / "tools" / "chromium.py")
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
