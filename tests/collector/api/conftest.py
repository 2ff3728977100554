"""The whole application over a real stages, pipeline and store; the clock is set by tests."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.waiting import until

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.collector.api.app import create_app
from rankscope.collector.api.services import CollectorParts
from rankscope.collector.api.token_failures import Sleep
from rankscope.collector.flows.stages import CollectorStages
from rankscope.collector.flows.standalone import StandaloneFlow
from rankscope.collector.history.journal_reader import FileJournalReader
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.profiles.shelf import ProfileShelf
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.store.remedy_changes import PlannedRemedy, RemedyBudget
from rankscope.formats.otlp import encode
from rankscope.vocabulary.incidents import Incident
from rankscope.vocabulary.samples import Sample, Scalar, TelemetryResource, attributes

TOKENS = {
    "ingest": "ingest-token-0123456789",
    "read": "read-token-0123456789abc",
    "admin": "admin-token-0123456789ab",
    "run-1": "limited-token-0123456789",
}


class Client:
    """Asks an application without a network: one event loop a request."""

    def __init__(self, app: FastAPI) -> None:
        self._transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)

    def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=self._transport, base_url="http://127.0.0.1:8470"
            ) as client:
                return await client.request(method, url, **more)

        return asyncio.run(ask())

    def get(self, url: str, **more: Any) -> httpx.Response:
        return self.request("GET", url, **more)

    def post(self, url: str, **more: Any) -> httpx.Response:
        return self.request("POST", url, **more)

    def delete(self, url: str, **more: Any) -> httpx.Response:
        return self.request("DELETE", url, **more)


@pytest.fixture
def tokens() -> dict[str, str]:
    """Return a token for each role, and one of an admin limited to jobs run-*."""
    return TOKENS


@pytest.fixture
def protected() -> dict[str, Any]:
    """Return the settings that know these tokens."""
    rows: list[dict[str, Any]] = [
        {"token": TOKENS[role], "role": role, "name": f"{role}-bot"}
        for role in ("ingest", "read", "admin")
    ]
    rows.append({"token": TOKENS["run-1"], "role": "admin", "jobs": ["run-*"]})
    return {"api": {"tokens": rows}}


@pytest.fixture
def new_services(
    store, memory_journal, decisions, clock, health, tmp_path
) -> Iterator[Callable[..., CollectorParts]]:
    """Return a function that makes running services with these settings."""
    started = []

    def make(**settings: Any) -> CollectorParts:
        stages = CollectorStages(
            pipeline=DetectionPipeline(),
            journal=memory_journal,
            decisions=decisions,
            sink=store,
            clock=clock,
            health=health,
        )
        stages.start()
        started.append(stages)
        checked = CollectorSettings.model_validate(settings)
        return CollectorParts(
            stages=StandaloneFlow(
                stages,
                history=FileJournalReader(checked.journal_folder),
                profiles=ProfileShelf(tmp_path / "profiles", checked.profiles),
            ),
            store=store,
            settings=checked,
            clock=clock,
            store_clock=clock,
            version="0.1.0",
            health=health,
        )

    yield make
    for stages in started:
        stages.stop()


@pytest.fixture
def new_client(new_services) -> Callable[..., Client]:
    """Return a function that gives a client of an application with these settings."""

    def make(*, sleep: Sleep = asyncio.sleep, **settings: Any) -> Client:
        return Client(create_app(new_services(**settings), sleep=sleep))

    return make


@pytest.fixture
def client_of() -> Callable[[CollectorParts], Client]:
    """Return a function that gives a client of an application over these services."""
    return lambda services: Client(create_app(services))


@pytest.fixture
def client(new_client: Callable[..., Client]) -> Client:
    """Return a client of an open collector."""
    return new_client()


@pytest.fixture
def bearer() -> Callable[[str], dict[str, str]]:
    """Return a function that gives the header for the token of a role."""
    return lambda role: {"authorization": f"Bearer {TOKENS[role]}"}


@pytest.fixture
def opened(
    store: IncidentDatabaseStore, new_incident: Callable[..., Incident]
) -> Callable[..., str]:
    """Return a function that commits an open incident and returns its id."""

    def commit(kind: str = "opened", **more: Any) -> str:
        incident = new_incident(**more)
        change = IncidentChange(f"incident.{kind}", incident, notify=True)  # type: ignore[arg-type]
        store.commit([change], incident.updated_at)
        return incident.id

    return commit


@pytest.fixture
def send_steps(clock) -> Callable[..., None]:
    """Return a function that sends steps of two ranks on two hosts, and waits until they count."""

    def send(
        client: Client,
        job: str = "run-1",
        *,
        steps: int = 5,
        losses: tuple[float, ...] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        start = clock.at - steps
        groups = []
        for rank, host in ((0, "gpu-1"), (1, "gpu-2")):
            pairs = attributes({"rank": rank})
            where: dict[str, Scalar | None] = {
                "rank": rank,
                "local_rank": 0,
                "world_size": 2,
                "pid": 100 + rank,
                "hw.id": f"GPU-{rank}",
                "framework": "torch",
            }
            samples = [Sample("training.rank.info", 1, start, attributes(where))]
            for step in range(steps):
                at = start + step + 0.5
                samples += [
                    Sample("training.step", step, at, pairs),
                    Sample("training.step.duration", 1.0, at, pairs),
                ]
                if losses:
                    samples.append(Sample("training.loss", losses[step], at, pairs))
            resource = TelemetryResource(host=host, job=job, cluster="c1", service="rankscope")
            groups.append((resource, samples))
        answer = client.post(
            "/v1/metrics",
            content=encode.metrics_request(groups),
            headers={"content-type": "application/x-protobuf", **(headers or {})},
        )
        assert answer.status_code == 200, answer.text
        until(lambda: _jobs(client, headers), job, lambda found: job in found)

    return send


def _jobs(client: Client, headers: dict[str, str] | None) -> list[str]:
    answer = client.get("/api/v1/jobs", headers=headers)
    assert answer.status_code == 200, answer.text
    return [row["job"] for row in answer.json()["items"]]


@pytest.fixture
def planned(store, clock) -> Callable[..., str]:
    """Return a function that plans an action; with `done` it is carried out, with an outcome."""

    def make(
        identity: str = "ab12", *, done: bool = False, outcome: str | None = None, **more: Any
    ) -> str:
        given: dict[str, Any] = {
            "incident": "a1".ljust(20, "0"),
            "job": "run-1",
            "attempt": 0,
            "fault": "gpu.lost",
            "entity": {"type": "gpu", "id": "GPU-1", "host": "gpu-1", "ranks": [3]},
            "host": "gpu-1",
            "action": "exclude_node",
            "executor": "slurm",
            "mode": "act",
            "probability": 0.98,
            "due_at": clock.at + 120,
            "text": "unless it is vetoed",
            **more,
        }
        new = PlannedRemedy(id=identity, **given)
        assert "" == store.plan_remedy(new, clock.at, settle_seconds=0.0)
        if done:
            measured = {"before_seconds": 2.0}
            store.start_remedy(
                identity,
                owner="x",
                seen={},
                measured=measured,
                budget=RemedyBudget(9, 9, 9),
                now=clock.at,
            )
            store.finish_remedy(identity, owner="x", state="done", reason="drained", now=clock.at)
        if outcome is not None:
            store.settle_remedy(identity, outcome=outcome, after=1.5, text="", now=clock.at)
        return identity

    return make
