"""Work and memory that are spread unevenly over ranks, stages and experts."""

from ..contract import Detector
from .extra_work import ExtraWork

DETECTORS: tuple[Detector, ...] = (ExtraWork(),)
"""Every detector of this family, with its default parameters: one line each."""
