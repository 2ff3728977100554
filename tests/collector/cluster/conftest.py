"""A real NATS of one server for each test, and collectors over it in this process."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.cluster.box import SECRET
from bench.cluster.nats_servers import NatsServers
from rankscope.collector.cluster import streams
from rankscope.collector.cluster.connection import NatsConnection
from rankscope.collector.cluster.stages import ClusterStages
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.settings.journal import JournalSettings
from rankscope.collector.settings.log import LogSettings
from rankscope.collector.settings.store import WebhookSettings
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.vocabulary.clock import SlewedClock

PARTITIONS = 2


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServers]:
    servers = NatsServers(tmp_path / "nats", count=1)
    servers.start()
    yield servers
    servers.kill()


@pytest.fixture
def log(nats: NatsServers) -> LogSettings:
    return LogSettings(
        url=nats.url, partitions=PARTITIONS, replicas=1, snapshot_seconds=1, lease_seconds=3
    )


@pytest.fixture
def connection(log: LogSettings) -> Iterator[NatsConnection]:
    """Return a connection to a NATS whose streams are made."""
    one = NatsConnection(log, name="test")
    one.start()
    streams.prepare(one, log, JournalSettings())
    yield one
    one.stop()


@pytest.fixture
def new_collector(log: LogSettings, tmp_path: Path) -> Iterator[Callable[..., ClusterStages]]:
    """Return a function that makes a collector of this name, which shares log and store.

    `system` is its machine's clock.
    """
    made: list[tuple[ClusterStages, IncidentDatabaseStore]] = []

    def new(
        name: str,
        pipeline: Callable[[], DetectionPipeline] = DetectionPipeline,
        *,
        system: Callable[[], float] = time.time,
    ) -> ClusterStages:
        folder = tmp_path / name
        folder.mkdir()
        store = IncidentDatabaseStore(
            f"sqlite:///{tmp_path / 'rankscope.db'}",
            webhooks=[WebhookSettings(name="page", url="http://127.0.0.1:9/", secret=SECRET)],
            owner=name,
        )
        stages = ClusterStages(
            CollectorSettings(data_dir=folder, log=log),
            store=store,
            clock=SlewedClock(system=system),
            health=CollectorHealth(),
            name=name,
            address=lambda: f"http://{name}",
            pipeline=pipeline,
        )
        made.append((stages, store))
        return stages

    yield new
    for stages, store in made:
        stages.stop()
        store.close()
