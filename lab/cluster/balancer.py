"""haproxy in front of the collectors: whichever is ready gets the next request."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..demo.stage import free_port

_END_SECONDS = 10.0


class Balancer:
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

    def start(self) -> None:
        """Start it; it takes connections at once."""
        program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if program is None:
            raise RuntimeError("haproxy is missing: apt install haproxy")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-db", "-f", str(self._config)], stdout=log, stderr=log
            )

    def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(_END_SECONDS)
