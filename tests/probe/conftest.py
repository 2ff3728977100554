"""A listener on the agent's socket, and a way to run real jobs against it."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import waiting

from rankscope.lab.demo.stage import free_port
from rankscope.vocabulary import datagram, events, metrics
from rankscope.vocabulary.samples import Event, Sample

JOBS = Path(__file__).parent / "jobs"
ALWAYS_OPTIONAL = {"source", "quality"}
MARK = b"mark"


class Listener:
    """A Unix datagram socket; what it receives is held against the vocabulary."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.received: list[datagram.ProbeDatagram] = []
        self.wrong: list[Exception] = []
        self._marked = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def environ(self) -> dict[str, str]:
        return {"RANKSCOPE_AGENT": f"unix://{self.path}"}

    def _listen(self) -> None:
        while data := self.socket.recv(datagram.LARGEST + 1):
            if data == MARK:
                self._marked.release()
                continue
            try:
                found = datagram.decode(data)
                sweep(found)
                self.received.append(found)
            except Exception as error:
                self.wrong.append(error)

    def wait(self) -> list[datagram.ProbeDatagram]:
        """Wait until all is read that was sent so far: a socket keeps the order of datagrams."""
        self._send(MARK)
        assert self._marked.acquire(timeout=60)
        assert not self.wrong
        return self.received

    def _send(self, data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(data, str(self.path))

    def until(self, question: Callable[[], object]) -> None:
        """Wait until the question is answered with something true."""
        waiting.until(question, more=lambda: f"{len(self.received)} datagrams received")

    def samples(self, metric: str, **attributes: object) -> list[Sample]:
        return [
            sample
            for each in self.received
            for sample in each.samples
            if sample.metric == metric and attributes.items() <= dict(sample.attributes).items()
        ]

    def values(self, metric: str, **attributes: object) -> list[float]:
        return [sample.value for sample in self.samples(metric, **attributes)]

    def events(self, name: str, **attributes: object) -> list[Event]:
        return [
            event
            for each in self.received
            for event in each.events
            if event.name == name and attributes.items() <= event.attributes.items()
        ]

    def close(self) -> None:
        self._send(b"")
        self._thread.join(60)
        self.socket.close()
        self.path.unlink(missing_ok=True)
        assert not self.wrong


def sweep(received: datagram.ProbeDatagram) -> None:
    """Hold every sample and event of a datagram against the vocabulary."""
    for sample in received.samples:
        metric = metrics.catalogue()[sample.metric]
        said = dict(sample.attributes)
        unknown = set(said) - set(metric.attributes) - set(metric.optional) - ALWAYS_OPTIONAL
        assert not unknown, f"{sample.metric} carries {unknown}"
        for name, allowed in metric.values.items():
            assert name not in said or said[name] in allowed, f"{sample.metric}: {said}"
    for event in received.events:
        kind = events.catalogue()[event.name]
        assert set(event.attributes) <= set(kind.attributes), f"{event.name}: {event.attributes}"
        for name, allowed in kind.values.items():
            assert event.attributes.get(name, allowed[0]) in allowed, f"{event.name}"


@contextmanager
def listening() -> Iterator[Listener]:
    # Not in tmp_path: a socket's path has room for 107 bytes.
    with tempfile.TemporaryDirectory(prefix="rankscope-", dir="/tmp") as folder:
        made = Listener(Path(folder) / "probe.sock")
        yield made
        made.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


@pytest.fixture(scope="session")
def environ() -> dict[str, str]:
    """Return the environment of this process without what would name a job or an agent."""
    hidden = ("RANKSCOPE_", "TORCH", "SLURM_", "OMPI_", "PMI", "PET_", "MASTER_", "VC_", "GLOO_")
    named = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MPI_LOCALRANKID", "RUNAI_JOB_NAME"}
    named |= {"JOB_NAME", "JOB_COMPLETION_INDEX", "JOB_PARALLELISM"}
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(hidden) and name not in named
    } | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


class Job:
    """Runs a script of jobs/ in its own process, or in several, with the variables of torchrun."""

    def __init__(self, environ: dict[str, str], listener: Listener) -> None:
        self._environ = environ
        self._listener = listener

    def run(
        self,
        script: str,
        *arguments: str,
        ranks: int = 0,
        fails: bool = False,
        lingers: bool = False,
        **more: str,
    ) -> str:
        """Run to the end and return what it printed; `ranks` 0: one process, and no job of several.

        `lingers`: the script waits until heartbeats have told what its ranks had done by then.
        """
        command = []
        if ranks:
            command = [str(JOBS / "forked.py"), str(ranks), str(free_port())]
        words = [*command, str(JOBS / script), *arguments]
        return self._run(words, more, fails=fails, lingers=ranks if lingers else 0)

    def run_module(self, script: str, *arguments: str) -> str:
        """Run through `python -m rankscope.probe`."""
        command = ["-m", "rankscope.probe", str(JOBS / script), *arguments]
        return self._run(command, {}, fails=False)

    def _run(
        self, command: list[str], more: dict[str, str], *, fails: bool, lingers: int = 0
    ) -> str:
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryDirectory() as folder:
            environ = {**self._environ, **self._listener.environ, **more}
            if lingers:
                environ["LINGER_IN"] = folder
            done = subprocess.Popen(
                [sys.executable, *command],
                env=environ,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                if lingers:
                    self._until_told(Path(folder), lingers, done)
                done.wait()
            finally:
                done.terminate()  # by a time limit
            self._listener.wait()
            printed.seek(0)
            text = printed.read()
        assert (done.returncode != 0) == fails, text
        return text

    def _until_told(self, folder: Path, ranks: int, job: subprocess.Popen[bytes]) -> None:
        """Wait until every rank is done and has sent two heartbeats since; let the job go on.

        The first of them may have been made before.
        """

        def beats() -> list[int]:
            age = "training.progress.age"
            return [len(self._listener.samples(age, rank=rank)) for rank in range(ranks)]

        def all_done() -> bool:
            return job.poll() is not None or len([*folder.glob("done_*")]) == ranks

        self._listener.until(all_done)
        before = beats()
        self._listener.until(
            lambda: (
                job.poll() is not None
                or all(now >= then + 2 for now, then in zip(beats(), before, strict=True))
            )
        )
        (folder / "told").touch()


@pytest.fixture
def job(environ: dict[str, str], listener: Listener) -> Job:
    return Job(environ, listener)


@dataclass(frozen=True)
class Run:
    """A plain job that was run to its end: what it printed, and who listened to it."""

    printed: str
    listener: Listener


@pytest.fixture(scope="session")
def without_probe(environ: dict[str, str]) -> Iterator[Run]:
    """Run the plain loop without the probe, once for all tests."""
    with listening() as made:
        yield Run(Job(environ, made).run("plain.py"), made)


@pytest.fixture(scope="session")
def with_probe(environ: dict[str, str]) -> Iterator[Run]:
    """Run the plain loop with the probe, once for all tests."""
    with listening() as made:
        told: dict[str, Any] = {"RANKSCOPE_JOB_ID": "job/1", "RANKSCOPE_JOB_ATTEMPT": "3"}
        yield Run(Job(environ, made).run("plain.py", "--probe", **told), made)
