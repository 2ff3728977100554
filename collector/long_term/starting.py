"""Puts the writer of what is derived together, where an address is set."""

from ..api.goodput import Goodputs
from ..api.ledger import Ledger
from ..api.routes.metrics import Exported
from ..api.watched import Watched
from ..metering import Metering
from ..services import Services
from .gathering import Gathering
from .sending import LongTerm


def writers(services: Services) -> list[LongTerm]:
    """Return the writer into the site's store; none where no address is set."""
    settings = services.settings.long_term
    if not settings.url:
        return []
    ledger = Ledger(services.store, keep_days=services.settings.store.keep_incidents_days)
    watched = Watched(services.stages)
    metering = Metering(watched, services.store, services.settings.users)
    exported = Exported(services, ledger, watched, Goodputs(ledger, metering))
    gathering = Gathering(exported, services.stages, settings.labels)
    return [
        LongTerm(
            settings,
            gather=gathering.bodies,
            clock=services.clock,
            registry=services.health.registry,
        )
    ]
