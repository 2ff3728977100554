"""What the HTTP side of the collector needs, in one place: filled by `service`, read by routes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..vocabulary.clock import Clock
from .health import Health
from .profiles.shelf import Shelf
from .stages import Stages

if TYPE_CHECKING:
    from .prometheus.polling import Poller
    from .settings import CollectorSettings
    from .store.store import Store


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a running collector."""

    stages: Stages[Any]
    store: "Store"
    settings: "CollectorSettings"
    clock: Clock
    version: str
    profiles: Shelf
    health: Health = field(default_factory=Health)
    pollers: "Sequence[Poller]" = ()
