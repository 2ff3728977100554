"""Puts the actions together, where the settings ask for them."""

import secrets

from prometheus_client import CollectorRegistry

from ...vocabulary.clock import Clock
from ..settings.actions import ActionsSettings
from ..store.store import IncidentDatabaseStore
from . import executors
from .runner import RemedyFlow, RemedyRunner


def runner(
    settings: ActionsSettings,
    *,
    store: IncidentDatabaseStore,
    flow: RemedyFlow,
    clock: Clock,
    store_clock: Clock,
    owner: str,
    registry: CollectorRegistry,
) -> RemedyRunner:
    """Return what plans and carries out. With mode off it ends what another mode had begun."""

    def hosts_of(job: str) -> tuple[str, ...]:
        rows = (row for row in flow.summaries.jobs() if row.job == job)
        return next((tuple(row.hosts) for row in rows), ())

    return RemedyRunner(
        settings=settings,
        executors={
            row.label: executors.of(row, store_clock, launchers=store, hosts_of=hosts_of)
            for row in settings.executors
        },
        store=store,
        flow=flow,
        clock=clock,
        store_clock=store_clock,
        # A process that was killed is another one: its leases have to end first.
        owner=f"{owner}:{secrets.token_hex(6)}",
        registry=registry,
    )
