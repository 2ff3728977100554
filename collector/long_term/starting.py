"""Puts the writer of what is derived together, where an address is set."""

from ...vocabulary.clock import Clock
from ..accounting.exported import IncidentMetrics
from ..accounting.gains import RunningGains
from ..accounting.goodput import GoodputMeter
from ..accounting.ledger import CostLedger
from ..accounting.metering import UsageMeter
from ..accounting.watched import JobSummaries, PipelineReader
from ..health.health import CollectorHealth
from ..settings.collector import CollectorSettings
from ..store.store import IncidentDatabaseStore
from .gathering import DerivedSeries
from .sending import LongTerm


def writers(
    settings: CollectorSettings,
    *,
    owner: PipelineReader,
    store: IncidentDatabaseStore,
    clock: Clock,
    health: CollectorHealth,
) -> list[LongTerm]:
    """Return the writer into the site's store; none where no address is set."""
    if not settings.long_term.url:
        return []
    ledger = CostLedger(store, keep_days=settings.store.keep_incidents_days)
    watched = JobSummaries(owner)
    goodputs = GoodputMeter(ledger, UsageMeter(watched, store, settings.users))
    exported = IncidentMetrics(
        ledger, watched, goodputs, RunningGains(owner), owner=owner, store=store, clock=clock
    )
    gathering = DerivedSeries(exported, owner, settings.long_term.labels)
    return [
        LongTerm(settings.long_term, gather=gathering.bodies, clock=clock, registry=health.registry)
    ]
