"""The whole HTTP side of the collector as one application."""

import asyncio
import re

from fastapi import Depends, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from ..accounting.exported import IncidentMetrics
from ..accounting.gains import RunningGains
from ..accounting.goodput import GoodputMeter
from ..accounting.ledger import CostLedger
from ..accounting.metering import UsageMeter
from ..history.asking import JournalHistory
from ..intake import routes as intake
from . import openapi, paths, problems, trail
from .answers import ResponseCache
from .auth import LOOKING, OPEN, TokenGuard
from .direct_intake import DirectIntake
from .feed import ChangeFeed
from .foreign_pages import ForeignPages
from .limits import BodyLimit
from .routes import (
    actions,
    audit,
    causes,
    checks,
    collectives,
    console,
    events,
    figures,
    gains,
    handling,
    health,
    hosts,
    incidents,
    jobs,
    launchers,
    maintenance,
    metrics,
    observations,
    offenders,
    priors,
    profiles,
    recordings,
    runbooks,
    separating,
    session,
    silences,
    similar,
    stats,
    targets,
    topology,
    webhooks,
)
from .services import CollectorParts
from .token_failures import Sleep, TokenFailures

_TITLE = "Rankscope collector"
_INTAKE_PATHS = ("/v1/metrics", "/v1/logs", "/v1/traces", "/api/v1/write", "/api/v1/alerts")
_TRACES = re.compile(r"/api/v1/profiles/[^/]+/ranks/[0-9]{1,9}/trace")
"""Where bodies are bounded by the route, by a setting."""


def create_app(services: CollectorParts, *, sleep: Sleep = asyncio.sleep) -> FastAPI:
    """Return the application: intake, API, console, metrics and health.

    It neither opens nor closes what the services hold. `sleep` delays answers to wrong tokens.
    """
    app = FastAPI(
        title=_TITLE,
        version=services.version,
        openapi_url="/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.openapi = openapi.described(app)  # type: ignore[method-assign]
    problems.install(app)
    guard = TokenGuard(
        services.settings.api,
        failures=TokenFailures(services.clock, registry=services.health.registry, sleep=sleep),
        clock=services.clock,
        everybody=OPEN if services.until is None else LOOKING,
    )
    ledger = CostLedger(services.store, keep_days=services.settings.store.keep_incidents_days)
    watched = services.stages.summaries
    metering = UsageMeter(watched, services.store, services.settings.users)
    goodputs = GoodputMeter(ledger, metering)
    running = RunningGains(services.stages)
    exported = IncidentMetrics(
        ledger,
        watched,
        goodputs,
        running,
        owner=services.stages,
        store=services.store,
        clock=services.clock,
    )
    held = services.stages.history
    past = JournalHistory(services.settings, held)
    feed = ChangeFeed(services.store)
    services.store.subscribe(feed.put, everywhere=True)

    ingest = [Depends(guard.require("ingest"))]
    taking = intake.IntakeRoutes(
        services.stages, health=services.health, settings=services.settings.intake
    )
    app.include_router(intake.router(taking), dependencies=ingest)
    app.state.guard = guard
    app.state.direct_intake = DirectIntake(taking, guard)
    for router in (
        session.router(guard),
        jobs.router(services, guard, ledger, watched, goodputs),
        collectives.router(services, guard),
        figures.router(services, guard, past),
        hosts.router(services, guard),
        incidents.router(services, guard, ResponseCache(services.store, services.clock)),
        observations.router(services, guard),
        checks.router(services, guard),
        handling.router(services, guard),
        priors.router(services, guard),
        profiles.router(services, guard, services.stages.profiles),
        recordings.router(services, guard, held),
        runbooks.router(guard),
        similar.router(services, guard, ledger),
        causes.router(services, guard, past),
        topology.router(services, guard),
        stats.router(services, guard, ledger, watched, metering, goodputs),
        offenders.router(services, guard, ledger),
        gains.router(services, guard, ledger, watched, running),
        targets.router(services, guard, watched),
        events.router(services, feed, guard),
        silences.router(services, guard),
        maintenance.router(services, guard),
        audit.router(services, guard),
    ):
        app.include_router(router, prefix="/api/v1")
    # What people configure here is no entry of the journal: it is written down by itself.
    recorded = [Depends(trail.recording(services))]
    for router in (
        webhooks.router(services, guard),
        actions.router(services, guard),
        separating.router(services, guard),
        launchers.router(services, guard),
    ):
        app.include_router(router, prefix="/api/v1", dependencies=recorded)
    app.include_router(health.router(services))
    app.include_router(metrics.router(services, exported))
    app.include_router(console.router(services.until))

    # Pages and series shrink to a fifth; streams of events are left as they are.
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    app.add_middleware(BodyLimit, except_for=_INTAKE_PATHS, except_like=_TRACES)
    gateway = services.stages.gateway()
    if gateway is not None:
        app.add_middleware(gateway)
    app.add_middleware(paths.RawPath)
    if guard.open:
        app.add_middleware(ForeignPages)
    return app
