"""The events of an attempt in order, with their ranks: kept with it until another one comes."""

from dataclasses import dataclass

from ...detectors.window import Floats
from ...vocabulary.samples import Event


@dataclass(frozen=True, slots=True)
class HeldEvents:
    """An attempt's events with their ranks and when they were received, oldest first."""

    versions: tuple[int, ...]
    events: tuple[Event, ...]
    received: Floats
