"""The alerts on VictoriaMetrics, where it does not count as Prometheus does."""

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from rankscope.lab.demo.stage import free_port

Answer = list[dict[str, Any]]


class VictoriaMetrics:
    """A store that takes samples with their times."""

    def __init__(self, address: str) -> None:
        self._address = address

    def take(self, series: str, values: list[int], ended_at: int) -> None:
        """Store values of a series, one in ten seconds, the last one at `ended_at` (s)."""
        times = [ended_at - 10 * number for number in range(len(values))][::-1]
        lines = (f"{series} {one} {at}000" for one, at in zip(values, times, strict=True))
        self._ask("/api/v1/import/prometheus", "\n".join(lines).encode())
        self._ask("/internal/force_flush")

    def query(self, query: str, at: int) -> Answer:
        parameters = urllib.parse.urlencode({"query": query, "time": at, "nocache": 1})
        found: Answer = json.loads(self._ask(f"/api/v1/query?{parameters}"))["data"]["result"]
        return found

    def _ask(self, path: str, body: bytes | None = None) -> bytes:
        with urllib.request.urlopen(f"http://{self._address}{path}", body, timeout=60) as answer:
            content: bytes = answer.read()
        return content


@pytest.fixture
def store(program: Callable[[str], str], tmp_path: Path) -> Iterator[VictoriaMetrics]:
    """Start a real one."""
    address = f"127.0.0.1:{free_port()}"
    command = (
        program("victoria-metrics"),
        f"-storageDataPath={tmp_path / 'data'}",
        f"-httpListenAddr={address}",
    )
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        started = VictoriaMetrics(address)
        until(lambda: started.query("vector(1)", int(time.time())), "VictoriaMetrics")
        yield started
        process.terminate()


@pytest.mark.programs
def test_errors_of_long_ago_are_no_new_ones_where_their_series_begins(
    store: VictoriaMetrics, rules: list[dict[str, Any]]
) -> None:
    """Its increase() takes what was before a small first value for 0."""
    (expr,) = [
        one["expr"] for one in rules if one.get("alert") == "RankscopeGpuMemoryUncorrectable"
    ]
    name, ended_at = 'hw_errors_total{error_type="uncorrected", gpu="%d"}', int(time.time()) - 60
    store.take(name % 0, [3] * 20, ended_at)
    store.take(name % 1, [3] * 10 + [4] * 10, ended_at)
    until(lambda: len(store.query("hw_errors_total", ended_at)) == 2, "the samples")
    found = store.query(expr, ended_at)
    assert [("1", "1")] == [(row["metric"]["gpu"], row["value"][1]) for row in found]
