"""What the HTTP side of the collector needs, in one place: filled by `service`, read by routes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...vocabulary.clock import Clock
from ..flows.flow import CollectorFlow
from ..health.health import CollectorHealth
from ..settings.collector import CollectorSettings
from ..store.store import IncidentDatabaseStore
from .connections import ConnectionRegister


class SiteConnection(Protocol):
    """Something that talks to a store of the site from a thread of its own."""

    def start(self) -> None:
        """Start its thread."""
        ...

    def stop(self) -> None: ...

    def warnings(self) -> list[str]:
        """Return what an operator has to know of it."""
        ...


@dataclass(frozen=True, slots=True)
class CollectorParts:
    """The parts of a running collector."""

    stages: CollectorFlow
    store: IncidentDatabaseStore
    settings: CollectorSettings
    clock: Clock
    """That of evaluation: what it holds is compared with this one."""
    store_clock: Clock
    """That of the store, which collectors may share: what is due or signed goes by this one."""
    version: str
    health: CollectorHealth = field(default_factory=CollectorHealth)
    connected: Sequence[SiteConnection] = ()
    """What asks or writes stores of the site."""
    register: ConnectionRegister | None = None
    """The connections over HTTP, where they are bounded."""
    until: float | None = None
    """When what is looked at was over, where that is the past: nobody may change it."""
