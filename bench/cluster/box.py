"""Everything of the cluster in one folder: started in order, ended in order."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..soak.receiver import MessageReceiver
from . import postgresql
from .balancer import LoadBalancer
from .collectors import CollectorProcesses
from .nats_servers import NatsServers
from .postgresql import PostgresqlServer

SECRET = "whsec_b2Ygbm9ib2R5IGJ1dCB0aGlzIHNvYWs6IDMyIGJ5dGU="  # noqa: S105  of nobody but this
PARTITIONS = 6


class ClusterBox:
    """NATS, PostgreSQL, collectors, and what takes their pages; a load balancer where wanted."""

    def __init__(
        self,
        folder: Path,
        *,
        collectors: int = 3,
        servers: int = 3,
        balanced: bool = True,
        partitions: int = PARTITIONS,
        log: dict[str, Any] | None = None,
        shared: bool = True,
        ahead_seconds: Mapping[int, float] | None = None,
    ) -> None:
        """`log`: settings of the log besides its place. Without `shared` one keeps files.

        `ahead_seconds`: by how much the clocks of some collectors are ahead.
        """
        folder.mkdir(parents=True, exist_ok=True)
        postgres = postgresql.program()
        self.folder = folder
        self.partitions = partitions
        self.nats = NatsServers(folder / "nats", count=servers)
        self.database = PostgresqlServer(postgres)
        self.receiver = MessageReceiver(folder / "messages.jsonl", SECRET)
        self.store = self.database.new()
        self.collectors = CollectorProcesses(
            folder,
            count=collectors,
            log={
                "url": self.nats.url if shared else "",
                "partitions": partitions,
                "replicas": min(3, servers),
                "snapshot_seconds": 5,
                **(log or {}),
            },
            store=self.store if shared else "",
            ahead_seconds=ahead_seconds,
            webhooks=[{"name": "soak", "url": self.receiver.url, "secret": SECRET}],
        )
        self.balancer = LoadBalancer(folder, self.collectors.ports) if balanced else None

    @property
    def address(self) -> tuple[str, int]:
        """Return where telemetry goes."""
        port = self.collectors.ports[0] if self.balancer is None else self.balancer.port
        return "127.0.0.1", port

    def pids(self) -> dict[str, list[int]]:
        """Return the processes of all that is no collector, by part."""
        found = {"nats": self.nats.pids(), "postgresql": [self.database.pid]}
        return found if self.balancer is None else {**found, "haproxy": [self.balancer.pid]}

    def start(self) -> None:
        """Start everything; return once every collector takes telemetry."""
        self.nats.start()
        for number in range(self.collectors.count):
            self.collectors.start(number)
        for number in range(self.collectors.count):
            self.collectors.wait_until_ready(number)
        if self.balancer is not None:
            self.balancer.start()

    def stop(self) -> None:
        """End everything, whatever has ended by itself."""
        try:
            if self.balancer is not None:
                self.balancer.stop()
            self.collectors.end()
        finally:
            self.collectors.end(signal.SIGKILL)
            self.nats.kill()
            self.receiver.stop()
            self.database.remove()
