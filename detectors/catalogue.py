"""Every detector there is, by family; each family lists its own in its `__init__.py`."""

from . import balance, efficiency, hardware, liveness, memory, numbers, outliers, speed
from .contract import Detector

_FAMILIES = (speed, balance, hardware, memory, liveness, numbers, efficiency, outliers)


def detectors() -> tuple[Detector, ...]:
    """Return one of each, with its default parameters."""
    return tuple(detector for family in _FAMILIES for detector in family.DETECTORS)
