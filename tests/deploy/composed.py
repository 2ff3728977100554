"""The compose file as processes of this machine: same arguments, same files, other addresses.

A container sees its volumes at fixed paths and its peers by name. Here every volume is a folder
below one folder, every `service:port` is a free port of the loopback, and both are put into
arguments, variables and the files that are mounted. Nothing else is changed.
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from rankscope.lab.demo.stage import free_port

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"

PROGRAMS = {
    "rankscope:local": [sys.executable, "-m", "rankscope.cli.main"],
    "prom/prometheus": "prometheus",
    "prom/alertmanager": "prometheus-alertmanager",
}
"""What the images start; ours as its Dockerfile says."""

FIRST_AGENT, SECOND_AGENT = 9471, 9472
"""Pages of the demo's two agents: one argument gives both."""

_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


def load(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the compose file with its variables put in, each by its default if it is not given."""
    given = environ or {}
    text = _VARIABLE.sub(lambda match: given.get(match[1]) or match[2], FILE.read_text())
    found: dict[str, Any] = yaml.safe_load(text)
    return found


class Composed:
    """Its services as processes. `folder` holds volumes, rewritten files and logs."""

    def __init__(self, folder: Path, program: Callable[[str], str]) -> None:
        """Choose a port for every address in the file; nothing is started yet."""
        self.services, self._folder, self._program = load()["services"], folder, program
        names = "|".join(self.services)
        self._address = re.compile(
            rf"\b(?:({names})|localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{{4}})\b"
        )
        self._ports: dict[int, int] = {}
        self._processes: list[subprocess.Popen[bytes]] = []

    def port(self, inside: int) -> int:
        """Return the port that stands for one of the file; no two services share a number."""
        if inside == SECOND_AGENT:
            return self.port(FIRST_AGENT) + 1
        if inside not in self._ports:
            self._ports[inside] = _first_of_two() if inside == FIRST_AGENT else free_port()
        return self._ports[inside]

    def path(self, service: str, inside: str) -> str:
        """Return the text with the paths of a service's mounts replaced, the longest first."""
        places = {"/tmp": self._made(f"tmp-{service}")}
        for mount in self.services[service].get("volumes", ()):
            source, target = mount.split(":")[:2]
            named = not source.startswith("./")
            places[target] = self._made(source) if named else self._rewritten(service, source)
        pattern = "|".join(re.escape(one) for one in sorted(places, key=len, reverse=True))
        return re.sub(rf"(?:{pattern})(?![\w-])", lambda match: str(places[match[0]]), inside)

    def text(self, service: str, inside: str) -> str:
        """Return an argument, a variable or a file's text as it is here."""

        def here(match: re.Match[str]) -> str:
            return f"127.0.0.1:{self.port(int(match[2]))}"

        return self._address.sub(here, self.path(service, inside))

    def command(self, service: str) -> list[str]:
        """Return what the container of a service would run."""
        wanted = self.services[service]
        own = PROGRAMS[wanted["image"].partition(":v")[0]]
        entry = [self._program(own)] if isinstance(own, str) else list(own)
        if "entrypoint" in wanted:
            entry = [self.text(service, word) for word in wanted["entrypoint"]]
            entry[0] = sys.executable
        words = [self.text(service, word) for word in wanted["command"]]
        if service in ("prometheus", "alertmanager"):  # they listen where their image does
            number = {"prometheus": 9090, "alertmanager": 9093}[service]
            words.append(f"--web.listen-address=127.0.0.1:{self.port(number)}")
        return [*entry, *words]

    def environment(self, service: str) -> dict[str, str]:
        """Return the variables of a service, beside those of this process."""
        own = self.services[service].get("environment", {})
        return {name: self.text(service, str(value)) for name, value in own.items()}

    def start(self, service: str) -> subprocess.Popen[bytes]:
        """Start a service; what it prints goes to a file of its name."""
        with (self._folder / f"{service}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(service),
                env={**os.environ, **self.environment(service)},
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process

    def healthy(self, service: str) -> bool:
        """Run the health check of a service, wget as a request of this process."""
        words = [self.text(service, one) for one in self.services[service]["healthcheck"]["test"]]
        assert "CMD" == words[0]
        if "wget" == words[1]:
            words[1:-1] = ["python", "-c", _ASK]
        words[1] = sys.executable
        return 0 == subprocess.run(words[1:], check=False, capture_output=True).returncode

    def log(self, service: str) -> str:
        """Return what a service printed so far."""
        return (self._folder / f"{service}.log").read_text()

    def stop(self) -> None:
        """End what runs, the last first."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _made(self, name: str) -> Path:
        folder = self._folder / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _rewritten(self, service: str, source: str) -> Path:
        """Return a mounted file or folder of the repository, YAML with the addresses of here."""
        path = ROOT / source
        if path.suffix != ".yml":
            return path
        written = self._folder / f"{service}-{path.name}"
        if not written.exists():
            written.touch()  # the file itself is one of the paths in it
            config = json.loads(self.text(service, json.dumps(yaml.safe_load(path.read_text()))))
            for job in config.get("scrape_configs", ()):
                self._without_dns(job)
            written.write_text(json.dumps(config))
        return written

    def _without_dns(self, job: dict[str, Any]) -> None:
        """Put the addresses of here in the place of names that only a compose network has."""
        found = job.pop("dns_sd_configs", ())
        targets = [f"127.0.0.1:{self.port(one['port'])}" for one in found]
        if targets:
            job["static_configs"].append({"targets": targets})


def _first_of_two() -> int:
    """Return a free port after which the next one is free, too."""
    while True:
        port = free_port()
        keeper = socket.socket()
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            keeper.bind(("127.0.0.1", port + 1))
        except OSError:
            keeper.close()
            continue
        keeper.detach()  # as free_port does
        return port


_ASK = "import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=4)"
