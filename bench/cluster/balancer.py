"""haproxy in front of the collectors: whichever is ready gets the next request."""

import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from rankscope.lab.demo.stage import free_port

_READY_SECONDS, _END_SECONDS = 60.0, 10.0


class LoadBalancer:
    """A load balancer over ports of this machine. Raises RuntimeError without haproxy."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        self.port = free_port()
        self._config = folder / "haproxy.cfg"
        self._log = folder / "haproxy.log"
        self._process: subprocess.Popen[bytes] | None = None
        servers = "".join(
            f"  server collector-{number} 127.0.0.1:{port} check inter 500 fall 2 rise 1\n"
            for number, port in enumerate(ports)
        )
        self._config.write_text(
            "defaults\n"
            "  mode http\n"
            "  timeout connect 2s\n"
            "  timeout client 60s\n"
            "  timeout server 60s\n"
            "  retries 2\n"
            "  option redispatch\n"
            "frontend collectors\n"
            f"  bind 127.0.0.1:{self.port}\n"
            "  default_backend collectors\n"
            "backend collectors\n"
            "  balance roundrobin\n"
            "  option httpchk GET /readyz\n"
            f"{servers}",
            encoding="utf-8",
        )

    @property
    def pid(self) -> int:
        """Return the process, once it is started."""
        assert self._process is not None  # noqa: S101  it is started
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if program is None:
            raise RuntimeError("haproxy is missing: apt install haproxy")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-db", "-f", str(self._config)], stdout=log, stderr=log
            )
        end = time.monotonic() + _READY_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=2).close()
            except OSError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"haproxy does not start; see {self._log}") from None
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(_END_SECONDS)
