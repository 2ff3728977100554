"""What an agent lets be asked of its probes, and what it takes from them."""

import fcntl
import os
import threading
from typing import Any

import pytest
from tests.waiting import until

from rankscope.agent.health import AgentHealth
from rankscope.agent.open_file import OpenFile
from rankscope.agent.profiling import ProfileService, spying
from rankscope.agent.settings import ProfilingSettings as Settings
from rankscope.agent.trainers import TrainerProcess
from rankscope.vocabulary import profiling
from rankscope.vocabulary.profiling import ProfileRequest

NOW = 1000.0
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def request(**more: Any) -> ProfileRequest:
    known: dict[str, Any] = {"id": "a1", "job": "job", "rank": 3, "steps": 20, "seconds": 30.0}
    limits: dict[str, Any] = {"max_bytes": 1 << 20, "until": NOW + 60}
    return ProfileRequest(**(known | limits | more))


class Collector:
    """Asks for what a test puts in, and notes what comes back."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.rounds = threading.Semaphore(0)
        self.uploaded: list[tuple[str, int, bytes, int, float]] = []
        self.refused: list[tuple[str, int, str]] = []
        self.news = threading.Semaphore(0)

    def requests(self, host: str) -> list[object]:
        assert host == "host-a"
        self.rounds.release()
        return self.asked

    def upload(
        self, identity: str, rank: int, trace: OpenFile, size: int, *, steps: int, seconds: float
    ) -> None:
        self.uploaded.append((identity, rank, trace.read(size), steps, seconds))
        self.news.release()

    def refuse(self, identity: str, rank: int, text: str) -> None:
        self.refused.append((identity, rank, text))
        self.news.release()


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def trainers() -> list[TrainerProcess]:
    return [TrainerProcess(("", 7), "job", 0, 3, 7, None, NOW)]


@pytest.fixture
def made(tmp_path, collector, trainers):
    running: list[ProfileService] = []

    def make(**settings: Any) -> ProfileService:
        profiler = ProfileService(
            Settings(allowed=True, poll_seconds=0.2, **settings),
            host="host-a",
            socket=tmp_path / "probe.sock",
            collector=collector,
            trainers=lambda: trainers,
            health=AgentHealth(),
            now=lambda: NOW,
        )
        profiler.start()
        running.append(profiler)
        return profiler

    yield make
    for profiler in running:
        profiler.stop(timeout=60)


def board(tmp_path) -> list[ProfileRequest]:
    path = profiling.requests_file(tmp_path / "probe.sock")
    return profiling.unpack(path.read_bytes()) if path.exists() else []


def sealed(data: bytes) -> OpenFile:
    descriptor = os.memfd_create("t", os.MFD_ALLOW_SEALING)
    os.write(descriptor, data)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return OpenFile(descriptor)


def answer(**more: Any) -> dict[str, Any]:
    return {"request": "a1", "status": "complete", "steps": 20, "seconds": 1.5, **more}


def test_a_request_reaches_the_file_of_the_probes_within_the_agents_own_limits(
    made, collector, tmp_path
):
    collector.asked = [request(steps=90, max_bytes=1 << 40).document()]
    made(max_steps=5)
    until(lambda: board(tmp_path))
    (found,) = board(tmp_path)
    assert (5, 16 << 20, 30.0) == (found.steps, found.max_bytes, found.seconds)
    path = profiling.requests_file(tmp_path / "probe.sock")
    assert 0o644 == path.stat().st_mode & 0o777


def test_a_trace_goes_to_the_collector_and_the_request_away(made, collector, trainers, tmp_path):
    collector.asked = [request().document()]
    profiler = made()
    until(lambda: board(tmp_path))
    profiler.take(trainers[0], answer(), sealed(b"trace"))
    assert collector.news.acquire(timeout=60)
    assert [("a1", 3, b"trace", 20, 1.5)] == collector.uploaded
    assert [] == board(tmp_path)


@pytest.mark.parametrize(
    ("settings", "more", "why"),
    [
        ({"jobs": ("other-*",)}, {}, "profiling.jobs"),
        ({}, {"rank": 4}, "no process of that rank"),
        ({}, {"until": NOW - 1}, "expired"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_reason(made, collector, settings, more, why):
    collector.asked = [request(**more).document()]
    made(**settings)
    assert collector.news.acquire(timeout=60)
    assert why in collector.refused[0][2]


def test_a_rank_is_not_profiled_again_at_once(made, collector, trainers, tmp_path):
    collector.asked = [request().document()]
    profiler = made()
    until(lambda: board(tmp_path))
    profiler.take(trainers[0], answer(status="failed", text="no torch"), None)
    assert collector.news.acquire(timeout=60)
    collector.asked = [request(id="b2").document()]
    assert collector.news.acquire(timeout=60)
    assert ["no torch", "profiled 0 s ago"] == [text[:16] for _, _, text in collector.refused]


def test_a_tenants_file_is_taken_only_where_it_is_sealed_memory_of_a_fair_size(
    made, collector, trainers, tmp_path
):
    big = sealed(b"x" * 100)
    pipe, other_end = os.pipe()
    unsealed = OpenFile(os.memfd_create("t", os.MFD_ALLOW_SEALING))
    files = [big, OpenFile(pipe), unsealed]
    profiler = made(interval_seconds=0)
    for number, file in enumerate(files):
        collector.asked = [request(id=f"r{number}", max_bytes=99).document()]
        until(lambda: board(tmp_path))
        profiler.take(trainers[0], answer(request=f"r{number}"), file)
        assert collector.news.acquire(timeout=60)
        assert "not a trace, or too large" in collector.refused[-1][2]
    os.close(other_end)
    assert [] == collector.uploaded


def test_an_answer_of_another_process_is_nothing(made, collector, trainers, tmp_path):
    collector.asked = [request().document()]
    profiler = made()
    until(lambda: board(tmp_path))
    profiler.take(TrainerProcess(("", 8), "other", 0, 3, 8, None, NOW), answer(), sealed(b"theirs"))
    profiler.take(trainers[0], answer(), sealed(b"mine"))
    assert collector.news.acquire(timeout=60)
    assert [b"mine"] == [row[2] for row in collector.uploaded]


def test_a_rank_without_a_probe_is_profiled_by_py_spy_where_that_is_allowed(
    made, collector, trainers, tmp_path, monkeypatch
):
    trainers[0].probed = False
    looked: list[tuple[str, int, float]] = []

    def record(spy: str, pid: int, *, seconds: float) -> bytes:
        looked.append((spy, pid, seconds))
        return b"trace"

    monkeypatch.setattr(spying, "program", lambda: "/bin/py-spy")
    monkeypatch.setattr(spying, "record", record)
    collector.asked = [request().document()]
    made(py_spy=True, max_seconds=7)
    assert collector.news.acquire(timeout=60)
    assert [("/bin/py-spy", 7, 7.0)] == looked
    assert [("a1", 3, b"trace", 0, 7.0)] == collector.uploaded
    assert [] == board(tmp_path)


@pytest.mark.parametrize(
    ("allowed", "help_of_it"), [(False, "profiling.py_spy"), (True, "pip install")]
)
def test_a_rank_without_a_probe_is_refused_with_what_would_help(
    made, collector, trainers, monkeypatch, allowed, help_of_it
):
    trainers[0].probed = False
    monkeypatch.setattr(spying, "program", lambda: None)
    collector.asked = [request().document()]
    made(py_spy=allowed)
    assert collector.news.acquire(timeout=60)
    assert help_of_it in collector.refused[0][2]


def test_what_py_spy_could_not_do_is_the_reason_of_the_refusal(
    made, collector, trainers, monkeypatch
):
    def record(_spy: str, _pid: int, *, seconds: float) -> bytes:
        raise spying.SpyError(f"py-spy: Permission denied ({seconds:g})")

    trainers[0].probed = False
    monkeypatch.setattr(spying, "program", lambda: "/bin/py-spy")
    monkeypatch.setattr(spying, "record", record)
    collector.asked = [request().document()]
    made(py_spy=True)
    assert collector.news.acquire(timeout=60)
    assert "Permission denied" in collector.refused[0][2]
