"""Requests for profiles that a probe finds beside its agent's socket, and what it makes of them."""

import os
import sys
import threading
import types
import zlib
from pathlib import Path
from typing import Any

import pytest

from rankscope.probe.agent_socket import AgentSocket
from rankscope.probe.profiling import ProfileRequests
from rankscope.probe.traces import TraceMessage, written
from rankscope.vocabulary import profiling
from rankscope.vocabulary.identity import identify
from rankscope.vocabulary.profiling import ProfileRequest, RequestError

NOW = 1000.0


class Watch:
    def __init__(self) -> None:
        self.closers: list[Any] = []
        self.emitted: list[dict[str, Any]] = []

    def emit(self, event: str, at: float | None = None, **attributes: Any) -> None:
        assert (profiling.EVENT, None) == (event, at)
        self.emitted.append(attributes)

    def end_step(self) -> None:
        for close in self.closers:
            close()


class Profiler:
    """Stands where torch.profiler.profile would, which costs seconds to import."""

    made: list["Profiler"] = []  # noqa: RUF012  emptied by the fixture

    def __init__(self, activities: list[str]) -> None:
        self.activities = activities
        self.states: list[str] = []
        Profiler.made.append(self)

    def start(self) -> None:
        self.states.append("start")

    def stop(self) -> None:
        self.states.append("stop")

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text('{"traceEvents": []}')


@pytest.fixture
def torch(monkeypatch):
    """Put something in the place of torch, and return it."""
    module: Any = types.ModuleType("torch")
    kinds = types.SimpleNamespace(CPU="cpu", CUDA="cuda")
    module.profiler = types.SimpleNamespace(ProfilerActivity=kinds, profile=Profiler)
    module.autograd = types.SimpleNamespace(_profiler_enabled=lambda: False)
    module.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", module)
    Profiler.made = []
    return module


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def sent() -> list[TraceMessage]:
    return []


@pytest.fixture
def arrived() -> threading.Semaphore:
    return threading.Semaphore(0)


@pytest.fixture
def new_profiling(tmp_path, watch, sent, arrived):
    def make(**environ: str) -> ProfileRequests:
        agent = AgentSocket({"RANKSCOPE_AGENT": f"unix://{tmp_path}/probe.sock"})
        agent.path = tmp_path / "probe.sock"
        agent.path.touch()

        def send(message: TraceMessage) -> None:
            sent.append(message)
            arrived.release()

        who = identify({"RANKSCOPE_JOB_ID": "job"}, rank=3, world_size=8)
        return ProfileRequests(
            agent=agent, identity=lambda: who, watch=watch, send=send, environ=environ
        )

    return make


def asked(folder: Path, **more: Any) -> Path:
    known: dict[str, Any] = {"id": "a1", "job": "job", "rank": 3, "steps": 2, "seconds": 30.0}
    limits: dict[str, Any] = {"max_bytes": 1 << 20, "until": NOW + 60}
    row = ProfileRequest(**(known | limits | more))
    path = profiling.requests_file(folder / "probe.sock")
    path.write_bytes(profiling.pack([row]))
    path.chmod(0o644)
    return path


def test_so_many_steps_are_profiled_and_the_trace_is_handed_over(
    torch, watch, new_profiling, tmp_path, sent, arrived
):
    profiler = new_profiling()
    asked(tmp_path)
    profiler.look(NOW)
    assert [] == Profiler.made  # begun by the thread that trains, at the end of a step
    for _ in range(3):
        watch.end_step()
    assert arrived.acquire(timeout=60)
    assert [["start", "stop"]] == [one.states for one in Profiler.made]
    assert ["cpu"] == Profiler.made[0].activities
    (message,) = sent
    said = message.event.attributes
    assert ("a1", "complete", 2) == (said["request"], said["status"], said["steps"])
    descriptor = message.descriptor()
    assert descriptor is not None
    data = os.pread(descriptor, 1 << 20, 0)
    assert b'{"traceEvents": []}' == zlib.decompress(data, wbits=31)
    with pytest.raises(PermissionError):
        os.write(descriptor, b"more")
    assert [] == watch.closers


def test_a_request_is_done_once_and_only_by_the_rank_of_the_job_that_it_names(
    torch, watch, new_profiling, tmp_path
):
    profiler = new_profiling()
    others: list[dict[str, Any]] = [{"rank": 4}, {"job": "other"}, {"until": NOW - 1}]
    for number, more in enumerate(others):
        asked(tmp_path, **more)
        profiler.look(NOW + 3 * number)
        assert [] == watch.closers


def test_without_a_request_a_step_costs_nothing(torch, watch, new_profiling):
    new_profiling().look(NOW)
    assert [] == watch.closers


def test_a_file_that_others_may_write_is_not_read(torch, watch, new_profiling, tmp_path):
    asked(tmp_path).chmod(0o666)
    new_profiling().look(NOW)
    assert [] == watch.closers


@pytest.mark.parametrize("data", [b"", b"[]", b'{"v": 1, "requests": [{}]}', b"x" * 70_000])
def test_a_file_that_is_none_is_an_error_that_the_heartbeat_counts(new_profiling, tmp_path, data):
    asked(tmp_path).write_bytes(data)
    with pytest.raises(RequestError):
        new_profiling().look(NOW)


def test_a_job_may_refuse_and_one_without_torch_cannot(monkeypatch, watch, new_profiling, tmp_path):
    asked(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    new_profiling().look(NOW)
    new_profiling(RANKSCOPE_PROFILE="0").look(NOW)
    assert ["has not imported torch.profiler", "RANKSCOPE_PROFILE=0)"] == [
        said["text"][-len(end) :]
        for said, end in zip(
            watch.emitted, ["has not imported torch.profiler", "RANKSCOPE_PROFILE=0)"], strict=True
        )
    ]


def test_a_job_that_profiles_itself_is_left_alone(torch, watch, new_profiling, tmp_path):
    torch.autograd._profiler_enabled = lambda: True
    asked(tmp_path)
    new_profiling().look(NOW)
    watch.end_step()
    assert "being profiled by something else" in watch.emitted[0]["text"]
    assert [] == watch.closers


def test_a_rank_that_ends_no_step_says_so(torch, watch, new_profiling, tmp_path):
    profiler = new_profiling()
    asked(tmp_path)
    profiler.look(NOW)
    profiler.look(NOW + 61)
    assert "no step ended before the request expired" == watch.emitted[0]["text"]
    assert [] == watch.closers


def test_detaching_ends_a_profile(torch, watch, new_profiling, tmp_path):
    profiler = new_profiling()
    asked(tmp_path)
    profiler.look(NOW)
    watch.end_step()
    profiler.close()
    assert ["start", "stop"] == Profiler.made[0].states
    assert [] == watch.closers


def test_a_trace_that_is_too_large_or_empty_is_refused():
    noise = os.urandom(3000)
    with pytest.raises(ValueError, match="fewer steps"):
        written(lambda path: Path(path).write_bytes(noise), max_bytes=1000)
    with pytest.raises(ValueError, match="wrote nothing"):
        written(lambda _path: None, max_bytes=1000)
