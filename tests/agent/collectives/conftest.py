"""NCCL's RAS service as a double on a real socket, and processes of ranks as /proc shows them."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.training_logs import LogBatch


@dataclass
class RasService:
    """Speaks the protocol of NCCL's RAS service.

    mode: json (2.28.7 and later), text (2.24: knows no formats), hangup (closes at an unknown
    command, and knows no formats), half (ends within the answer), mute (never answers), garbage.
    """

    answer: Callable[[], dict[str, Any]] = dict
    text: str = ""
    mode: str = "json"
    asked: list[list[str]] = field(default_factory=list)
    port: int = 0

    def reply(self, line: str) -> tuple[str, bool]:
        """Return what answers a command, and whether the connection ends there."""
        if line.startswith("CLIENT PROTOCOL"):
            return (
                ("SSH-2.0-x\n", True) if self.mode == "garbage" else ("SERVER PROTOCOL 2\n", False)
            )
        if line.startswith("TIMEOUT"):
            return "OK\n", False
        if line.startswith("SET FORMAT"):
            if self.mode == "hangup":
                return "", True
            if self.mode == "text":
                return "ERROR: Unknown command\n", False
            return "OK\n", False
        body = json.dumps(self.answer()) if self.mode in ("json", "half") else self.text
        return body[: len(body) // 2] if self.mode == "half" else body, True


@pytest.fixture
def ras_service() -> Iterator[RasService]:
    """Serve on a free port of this machine until the test ends."""
    service = RasService()
    ended = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines: list[str] = []
            service.asked.append(lines)
            for data in self.rfile:
                lines.append(data.decode().strip())
                if service.mode == "mute":
                    ended.wait(20)
                    return
                text, closes = service.reply(lines[-1])
                self.wfile.write(text.encode())
                if closes:
                    return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        service.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield service
        ended.set()
        server.shutdown()
        thread.join()


@dataclass
class Ranks:
    """Processes that a launcher gave a rank, below a folder that stands for /proc."""

    proc: Path
    job: str = "run-7"
    world_size: int = 4

    def add(
        self, rank: int, *, pid: int | None = None, own_pid: int | None = None, **variables: str
    ) -> int:
        """Add the process of a rank; return its pid."""
        pid = 1000 + rank if pid is None else pid
        folder = self.proc / str(pid)
        folder.mkdir(parents=True)
        fields = " ".join(["S", "1", *["0"] * 17, str(100 + rank), *["0"] * 30])
        (folder / "stat").write_text(f"{pid} (python) {fields}\n")
        (folder / "status").write_text(f"Name:\tpython\nNSpid:\t{pid}\t{own_pid or pid}\n")
        environ = {
            "TORCHELASTIC_RUN_ID": self.job, "TORCHELASTIC_RESTART_COUNT": "0", "RANK": str(rank),
            "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.world_size), **variables,
        }  # fmt: skip
        (folder / "environ").write_text("\0".join(f"{k}={v}" for k, v in environ.items()) + "\0")
        return pid


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    (tmp_path / "proc").mkdir()
    return Ranks(tmp_path / "proc")


@dataclass
class Delivered:
    """What a reader handed over."""

    batches: list[LogBatch] = field(default_factory=list)
    health: AgentHealth = field(default_factory=AgentHealth)

    def __call__(self, batch: LogBatch) -> None:
        self.batches.append(batch)

    def values(self, metric: str, key: str = "rank", host: object = ...) -> dict[Any, float]:
        """Return the newest values of a metric by an attribute, of one host or of all."""
        return {
            dict(sample.attributes).get(key): sample.value
            for batch in self.batches
            if host is ... or batch.host == host
            for sample in batch.samples
            if sample.metric == metric
        }

    def events(self) -> list[dict[str, Any]]:
        return [dict(event.attributes) for batch in self.batches for event in batch.events]


@pytest.fixture
def delivered() -> Delivered:
    return Delivered()
