"""Runs tests of a tree, each time in a fork of a process that has loaded the libraries already.

Started in the tree, with its interpreter. A line of JSON in: tests, seconds. A line of JSON out:
pytest's exit code (None where time was over), the first failure, and the test that ran last.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

# What tests/conftest.py imports that is not of this project, and the plugins: seconds a run.
LIBRARIES = (
    *("alembic.command", "cramjam", "fastapi", "httpx", "hypothesis", "jsonschema", "numpy"),
    *("prometheus_client", "psutil", "psycopg", "pydantic", "schemathesis.pytest.plugin"),
    *("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite", "structlog", "uvicorn"),
    *("opentelemetry.proto.collector.logs.v1.logs_service_pb2", "standardwebhooks", "yaml"),
    *("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", "xml.etree.ElementTree"),
)
ARGUMENTS = (
    *("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("--hypothesis-seed=0", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
MEMORY = 4 << 30
"""Bytes that a run may take: a loop without an end must not take the machine's."""
OUTSIDE = 70
"""Exit code where `rankscope` comes from somewhere else than this tree."""


class Chosen:
    """A pytest plugin: runs the chosen tests in their order, and tells how it went."""

    def __init__(self, tests: list[str], report: Path) -> None:
        self._place = {test: number for number, test in enumerate(tests)}
        self._report = report

    def pytest_sessionstart(self) -> None:
        """Refuse to test another tree."""
        import rankscope  # noqa: PLC0415  only in the fork, where it may be changed

        if any(not Path(part).is_relative_to(Path.cwd()) for part in rankscope.__path__):
            pytest.exit(f"rankscope is imported from {list(rankscope.__path__)}", OUTSIDE)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the chosen ones."""
        others = [item for item in items if item.nodeid not in self._place]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write that it began."""
        self._write({"last": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write that it failed."""
        self._failed(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write that a file could not be read."""
        self._failed(report)

    def _failed(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
            why = lines[0][1:].strip() if lines else ""
            self._write({"failed": report.nodeid, "why": why[:160]})

    def _write(self, row: dict[str, str]) -> None:
        with self._report.open("a", encoding="utf-8") as report:
            report.write(json.dumps(row) + "\n")


def main() -> None:
    """Answer requests until there are no more."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    # What tests print belongs to nobody here; the answers go where standard output was.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    report = Path("mutants-report.jsonl")
    for line in sys.stdin:
        request = json.loads(line)
        report.write_text("", encoding="utf-8")
        before = _cpu_seconds()
        code = _forked(request["tests"], request["seconds"], report)
        rows = [json.loads(row) for row in report.read_text(encoding="utf-8").splitlines()]
        answer: dict[str, object] = {"code": code, "cpu": _cpu_seconds() - before}
        for row in reversed(rows):  # the first failure counts, and the last start
            answer |= {
                name: text for name, text in row.items() if name != "last" or name not in answer
            }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _forked(tests: list[str], seconds: float, report: Path) -> int | None:
    child = os.fork()
    if not child:
        _run(tests, report)
    until = time.monotonic() + seconds
    ended, caller = 0, os.getppid()
    while not ended and time.monotonic() < until and os.getppid() == caller:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests have left running too
    if ended:
        return os.waitstatus_to_exitcode(status)
    os.waitpid(child, 0)
    return None


def _run(tests: list[str], report: Path) -> None:
    code: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        with (
            Path("mutants-output.txt").open("wb") as output,
            Path(os.devnull).open("rb") as nothing,
        ):
            os.dup2(nothing.fileno(), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        files = [file for file in files if Path(file).exists()]
        code = pytest.main([*ARGUMENTS, *files], plugins=[Chosen(tests, report)])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
