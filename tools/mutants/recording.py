"""Which tests run which lines, and how long each takes: a pytest plugin, and what it left, read.

The map is a data file of coverage, with a table of the tests in it. A line run by a fixture that
many tests share counts for all tests of the file that asked for it first.
"""

import json
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression
from coverage import Coverage
from coverage.numbits import numbits_to_nums

from .sites import PACKAGES

_TARGET = "MUTANTS_MAP"


@dataclass(frozen=True, slots=True)
class MappedTest:
    """A test, what it takes, and its markers."""

    name: str
    seconds: float
    markers: frozenset[str]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


def record(target: Path, arguments: list[str]) -> int:
    """Run pytest once with the arguments and write the map; return pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-p", "tools.mutants.recording", *arguments]
    environment = {**os.environ, _TARGET: str(target.resolve())}
    code = subprocess.run(command, env=environment, check=False).returncode
    parts = sorted(str(part) for part in target.parent.glob(f"{target.name}.part*"))
    whole = Coverage(data_file=str(target))
    whole.combine(parts)
    whole.save()
    rows = [
        row
        for part in sorted(target.parent.glob(f"{target.name}.tests*"))
        for row in json.loads(part.read_text(encoding="utf-8"))
    ]
    add_tests(target, rows)
    for part in target.parent.glob(f"{target.name}.tests*"):
        part.unlink()
    return code


def add_tests(target: Path, rows: list[tuple[str, float, str]]) -> None:
    """Write the tests beside the lines: name, seconds, markers with spaces between them."""
    with closing(sqlite3.connect(target)) as store, store:
        store.execute("create table if not exists test (name primary key, seconds, markers)")
        store.executemany("insert or replace into test values (?, ?, ?)", rows)


class Recording:
    """The plugin: one data file of coverage a process, one context a test."""

    def __init__(self, target: str) -> None:
        self._target = f"{target}.{{}}.{os.getpid()}"
        self._seconds: dict[str, float] = defaultdict(float)
        self._markers: dict[str, str] = {}
        self._coverage = Coverage(
            data_file=self._target.format("part"), source=list(PACKAGES), config_file=False
        )
        self._coverage.set_option("run:relative_files", value=True)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count what runs for the test."""
        self._markers[item.nodeid] = " ".join(sorted({mark.name for mark in item.iter_markers()}))
        self._coverage.switch_context(item.nodeid)
        result = yield
        self._coverage.switch_context("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Count what runs for a shared fixture for the whole file."""
        if fixturedef.scope == "function":
            return (yield)
        test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        self._coverage.switch_context(test.partition("::")[0])
        result = yield
        self._coverage.switch_context(test)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the time of setup, call and teardown."""
        self._seconds[report.nodeid] += report.duration

    def pytest_unconfigure(self) -> None:
        """Write what was counted."""
        self._coverage.stop()
        self._coverage.save()
        rows = [(name, self._seconds[name], marks) for name, marks in self._markers.items()]
        Path(self._target.format("tests")).write_text(json.dumps(rows), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Begin, as a plugin of pytest."""
    config.pluginmanager.register(Recording(os.environ[_TARGET]))


class _Markers:
    """Answers for one test what an expression asks."""

    def __init__(self, markers: frozenset[str]) -> None:
        self._markers = markers

    def __call__(self, name: str, /, **_: object) -> bool:
        return name in self._markers


class Map:
    """What one recorded run knows."""

    def __init__(self, path: Path) -> None:
        self._store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        rows = self._store.execute("select name, seconds, markers from test")
        self.tests = {
            name: MappedTest(name, seconds, frozenset(markers.split()))
            for name, seconds, markers in rows
        }
        self._by_file: dict[str, list[MappedTest]] = defaultdict(list)
        for test in self.tests.values():
            self._by_file[test.file].append(test)

    def reaching(self, path: str, lines: range | None) -> set[MappedTest]:
        """Return the tests that run one of the lines of a file, or any line of it."""
        rows = self._store.execute(
            "select context, numbits from line_bits join context on context.id = context_id"
            " join file on file.id = file_id where path = ? and context != ''",
            (path,),
        )
        contexts = {
            context
            for context, bits in rows
            if lines is None or not set(lines).isdisjoint(numbits_to_nums(bits))
        }
        return {test for context in contexts for test in self._of(context)}

    def below(self, folder: str) -> set[MappedTest]:
        """Return the tests whose file has a name that begins so."""
        return {
            one for file in self._by_file if file.startswith(folder) for one in self._by_file[file]
        }

    def marked(self, expression: str) -> set[MappedTest]:
        """Return the tests that `pytest -m` would run; with no expression, all."""
        if not expression:
            return set(self.tests.values())
        compiled = Expression.compile(expression)
        every = self.tests.values()
        return {test for test in every if compiled.evaluate(_Markers(test.markers))}

    def _of(self, context: str) -> list[MappedTest]:
        if "::" in context:
            return [self.tests[context]] if context in self.tests else []
        return self._by_file.get(context, [])
