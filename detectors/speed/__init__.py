"""How long steps take, and who makes them longer."""

from ..contract import Detector
from .data_wait import DataWait
from .slow_steps import SlowSteps
from .stragglers import Stragglers

DETECTORS: tuple[Detector, ...] = (
    SlowSteps(),
    Stragglers(),
    DataWait(),
)
"""Every detector of this family, with its default parameters: one line each."""
