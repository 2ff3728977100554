"""What is attacked behind one address: a collector with a journal, or several as one."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rankscope.collector.cluster import replaying
from rankscope.collector.journal import journal
from rankscope.collector.settings.log import LogSettings
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import free_port

from ..cluster import postgresql
from ..cluster.balancer import LoadBalancer
from ..cluster.nats_servers import NatsServers
from ..cluster.postgresql import PostgresqlServer
from .watched import MIB, WatchedProgram

COLLECTORS = 3
_PARTITIONS = 6
_LISTENS = re.compile(r"listens on http://(\S+?)/?$", re.MULTILINE)


class AttackedCollectors(Protocol):
    """One or several, that start and end together."""

    @property
    def http(self) -> str:
        """HOST:PORT of their pages, and of OTLP over HTTP."""
        ...

    @property
    def grpc(self) -> str:
        """HOST:PORT of OTLP over gRPC."""
        ...

    def start(self) -> None:
        """Start them, and return once they take telemetry."""
        ...

    def watch(self) -> None:
        """Begin to take readings."""
        ...

    def rest(self) -> None:
        """Take no more readings."""
        ...

    def between(self, start: float, end: float) -> dict[str, Any]:
        """Memory (MiB), CPU, slowest page and lag (s) from start to end (s since the epoch)."""
        ...

    def mib(self) -> float:
        """Memory of all of them."""
        ...

    def lag(self) -> float:
        """Seconds that the evaluation of the slowest is behind."""
        ...

    def page(self, path: str, headers: dict[str, str]) -> str | None:
        """Return what is answered under their address, None where nothing is in time."""
        ...

    def stop(self) -> float:
        """End them; return the seconds that it took."""
        ...

    def bodies(self) -> Iterator[bytes]:
        """Yield the payloads that are kept, after their end."""
        ...

    def kept_mib(self) -> dict[str, float]:
        """Sizes of what is kept, by name."""
        ...

    def close(self) -> None:
        """End what they stand on."""
        ...


class OneCollector:
    """A collector that keeps files."""

    def __init__(
        self,
        folder: Path,
        processes: DemoProcesses,
        program: Sequence[str],
        settings: Mapping[str, Any],
        *,
        name: str = "collector",
    ) -> None:
        self.http, self.grpc = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self._data = folder / name
        self.watched = _watched(
            name,
            folder,
            processes,
            program,
            {
                "data_dir": str(self._data),
                "http": {"listen": self.http},
                "intake": {"grpc_listen": self.grpc},
                **settings,
            },
        )
        self.watched.address = self.http
        self.watch, self.rest = self.watched.watch, self.watched.rest
        self.between = self.watched.readings.between
        self.mib, self.lag, self.stop = self.watched.mib, self.watched.lag, self.watched.stop

    def start(self) -> None:
        """Start it, and wait until it listens."""
        log = self.watched.start()
        self.watched.until(lambda: _LISTENS.search(log.read_text("utf-8", "replace")))

    def wait_until_ready(self) -> None:
        """Wait for it to take telemetry, which several do once they have their partitions."""
        self.watched.until(lambda: self.watched.page("/readyz") is not None)

    def page(self, path: str, headers: dict[str, str]) -> str | None:
        """Return what it answers, None where it does not."""
        return self.watched.page(path, headers)

    def bodies(self) -> Iterator[bytes]:
        """Yield the payloads of its journal."""
        return (entry.body for entry in journal.read(self._data / "journal"))

    def kept_mib(self) -> dict[str, float]:
        """Sizes of journal and snapshot."""
        return {name: size_mib(self._data / name) for name in ("snapshot", "journal")}

    def close(self) -> None:
        """Leave nothing: its process is the site's."""


class CollectorCluster:
    """Three collectors over NATS and PostgreSQL, behind haproxy. What they keep outlives them."""

    def __init__(
        self,
        folder: Path,
        processes: DemoProcesses,
        program: Sequence[str],
        settings: Mapping[str, Any],
    ) -> None:
        postgres = postgresql.program()
        self._held = contextlib.ExitStack()
        self._folder = folder
        self._nats = NatsServers(folder / "nats", count=1)
        self._held.callback(self._nats.kill)
        database = PostgresqlServer(postgres)
        self._held.callback(database.remove)
        log = {"url": self._nats.url, "partitions": _PARTITIONS, "replicas": 1}
        shared = {**settings, "log": log, "store": {"url": database.new()}}
        self._members = [
            OneCollector(folder, processes, program, shared, name=f"collector-{number}")
            for number in range(COLLECTORS)
        ]
        ports = [int(one.http.rpartition(":")[2]) for one in self._members]
        self._balancer = LoadBalancer(folder, ports)
        self._held.callback(self._balancer.stop)
        self.http, self.grpc = f"127.0.0.1:{self._balancer.port}", self._members[0].grpc
        self._front = self._members[0].watched
        self._stands = False

    def start(self) -> None:
        """Start what they stand on once, then them, and wait until each is ready."""
        if not self._stands:
            self._nats.start()
            self._balancer.start()
            self._stands = True
        for one in self._members:
            one.watched.start()
        for one in self._members:
            one.wait_until_ready()

    def watch(self) -> None:
        """Begin to take readings of each."""
        self._each(lambda one: one.watch())

    def rest(self) -> None:
        """Take no more readings."""
        self._each(lambda one: one.rest())

    def between(self, start: float, end: float) -> dict[str, Any]:
        """Memory and CPU of all, the slowest page, the longest lag."""
        found = [one.between(start, end) for one in self._members]
        summed = {name: sum(one[name] or 0.0 for one in found) for name in ("mib", "cpu_seconds")}
        most = {name: max(one[name] for one in found) for name in ("answer_seconds", "lag_seconds")}
        return {name: round(value, 2) for name, value in (summed | most).items()}

    def mib(self) -> float:
        """Memory of all of them."""
        return round(sum(one.mib() for one in self._members), 1)

    def lag(self) -> float:
        """Seconds of the slowest."""
        return max(one.lag() for one in self._members)

    def page(self, path: str, headers: dict[str, str]) -> str | None:
        """Return what one of them answers for all."""
        return self._front.page(path, headers)

    def stop(self) -> float:
        """End one after the other, as a rolling restart does; return what the slowest took."""
        return max(one.stop() for one in self._members)

    def bodies(self) -> Iterator[bytes]:
        """Yield the payloads of all partitions."""
        log = LogSettings(url=self._nats.url, partitions=_PARTITIONS)
        return (entry.body for entry in replaying.held(log))

    def kept_mib(self) -> dict[str, float]:
        """Size of the streams, in which snapshots are too."""
        return {"streams": size_mib(self._folder / "nats")}

    def close(self) -> None:
        """End balancer, database and NATS, and delete what they kept."""
        self._held.close()

    def _each(self, verb: Callable[[OneCollector], object]) -> None:
        for one in self._members:
            verb(one)


def size_mib(place: Path) -> float:
    """MiB of a file, or of all files of a folder; 0 of none."""
    files = [place] if place.is_file() else place.rglob("*")
    return round(sum(one.stat().st_size for one in files if one.is_file()) / MIB, 1)


def _watched(
    name: str,
    folder: Path,
    processes: DemoProcesses,
    program: Sequence[str],
    settings: Mapping[str, Any],
) -> WatchedProgram:
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    command = [*program, "collector", "--config", str(file)]
    return WatchedProgram(name, command, processes, path="/metrics")
