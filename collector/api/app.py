"""The whole HTTP side of the collector as one application."""

import asyncio
import re

from fastapi import Depends, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from ..flows import held as held_by
from ..flows import watched as watched_by
from ..intake import routes as intake
from ..metering import Metering
from ..past.asking import Past
from ..services import Services
from . import openapi, paths, problems, trail
from .answers import Answers
from .auth import Guard
from .feed import Feed
from .goodput import Goodputs
from .ledger import Ledger
from .limits import BodyLimit
from .routes import (
    audit,
    causes,
    collectives,
    console,
    events,
    figures,
    handling,
    health,
    hosts,
    incidents,
    jobs,
    maintenance,
    metrics,
    offenders,
    priors,
    profiles,
    recordings,
    runbooks,
    session,
    silences,
    similar,
    stats,
    targets,
    topology,
    webhooks,
)
from .token_failures import Sleep, TokenFailures

_TITLE = "Rankscope collector"
_INTAKE_PATHS = ("/v1/metrics", "/v1/logs", "/v1/traces", "/api/v1/write", "/api/v1/alerts")
_TRACES = re.compile(r"/api/v1/profiles/[^/]+/ranks/[0-9]{1,9}/trace")
"""Where bodies are bounded by the route, by a setting."""


def create_app(services: Services, *, sleep: Sleep = asyncio.sleep) -> FastAPI:
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
    guard = Guard(
        services.settings.api,
        failures=TokenFailures(services.clock, registry=services.health.registry, sleep=sleep),
        clock=services.clock,
    )
    ledger = Ledger(services.store, keep_days=services.settings.store.keep_incidents_days)
    watched = watched_by(services.stages)
    metering = Metering(watched, services.store, services.settings.users)
    goodputs = Goodputs(ledger, metering)
    held = held_by(services.stages, services.settings)
    past = Past(services.settings, held)
    feed = Feed(services.store)
    services.store.subscribe(feed.put, everywhere=True)

    ingest = [Depends(guard.require("ingest"))]
    app.include_router(intake.router(services), dependencies=ingest)
    for router in (
        session.router(guard),
        jobs.router(services, guard, ledger, watched, goodputs),
        collectives.router(services, guard),
        figures.router(services, guard, past),
        hosts.router(services, guard),
        incidents.router(services, guard, Answers(services.store, services.clock)),
        handling.router(services, guard),
        priors.router(services, guard),
        profiles.router(services, guard, services.profiles),
        recordings.router(services, guard, held),
        runbooks.router(guard),
        similar.router(services, guard, ledger),
        causes.router(services, guard, past),
        topology.router(services, guard),
        stats.router(services, guard, ledger, watched, metering, goodputs),
        offenders.router(services, guard, ledger),
        targets.router(services, guard, watched),
        events.router(services, feed, guard),
        silences.router(services, guard),
        maintenance.router(services, guard),
        audit.router(services, guard),
    ):
        app.include_router(router, prefix="/api/v1")
    # What people configure here is no entry of the journal: it is written down by itself.
    recorded = [Depends(trail.recording(services))]
    for router in (webhooks.router(services, guard),):
        app.include_router(router, prefix="/api/v1", dependencies=recorded)
    app.include_router(health.router(services))
    app.include_router(metrics.router(services, ledger, watched, goodputs))
    app.include_router(console.router())

    # Pages and series shrink to a fifth; streams of events are left as they are.
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    app.add_middleware(BodyLimit, except_for=_INTAKE_PATHS, except_like=_TRACES)
    if services.gateway is not None:
        app.add_middleware(services.gateway)
    app.add_middleware(paths.RawPath)
    return app
