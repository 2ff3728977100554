"""Whether the database answers, for the readiness of the collector."""

from typing import Protocol

from ..health.health import CollectorHealth
from .errors import StoreError


class StoreHealth(Protocol):
    """What is needed of the store."""

    def check(self) -> None:
        """Raise StoreError unless the database answers."""
        ...


def check(store: StoreHealth, health: CollectorHealth) -> None:
    """Ask whether the store answers; may take as long as the database lets one wait."""
    try:
        store.check()
    except StoreError as error:
        health.store_answered(str(error))
    else:
        health.store_answered()
