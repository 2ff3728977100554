"""Whether the database answers, for the readiness of the collector."""

from typing import Protocol

from ..health.health import Health
from .errors import StoreError


class Answering(Protocol):
    """What is needed of the store."""

    def check(self) -> None:
        """Raise StoreError unless the database answers."""
        ...


def check(store: Answering, health: Health) -> None:
    """Ask whether the store answers; may take as long as the database lets one wait."""
    try:
        store.check()
    except StoreError as error:
        health.store_answered(str(error))
    else:
        health.store_answered()
