"""Values of the training itself: non-finite numbers, loss, gradients, learning rate."""

from ..contract import Detector
from .nonfinite import Nonfinite

DETECTORS: tuple[Detector, ...] = (Nonfinite(),)
"""Every detector of this family, with its default parameters: one line each."""
