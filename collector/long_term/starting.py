"""Puts the writer of what is derived together, where an address is set."""

from ...vocabulary.clock import Clock
from ..accounting.exported import Exported
from ..accounting.goodput import Goodputs
from ..accounting.ledger import Ledger
from ..accounting.metering import Metering
from ..accounting.watched import Readable, Watched
from ..health.health import Health
from ..settings.collector import CollectorSettings
from ..store.store import Store
from .gathering import Gathering
from .sending import LongTerm


def writers(
    settings: CollectorSettings, *, owner: Readable, store: Store, clock: Clock, health: Health
) -> list[LongTerm]:
    """Return the writer into the site's store; none where no address is set."""
    if not settings.long_term.url:
        return []
    ledger = Ledger(store, keep_days=settings.store.keep_incidents_days)
    watched = Watched(owner)
    goodputs = Goodputs(ledger, Metering(watched, store, settings.users))
    exported = Exported(ledger, watched, goodputs, owner=owner, store=store, clock=clock)
    gathering = Gathering(exported, owner, settings.long_term.labels)
    return [
        LongTerm(settings.long_term, gather=gathering.bodies, clock=clock, registry=health.registry)
    ]
