"""Work and memory that are spread unevenly over ranks, stages and experts.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .contexts import ContextsDetector
from .experts import ExpertsDetector
from .extra_work import ExtraWorkDetector
from .memory_balance import MemoryBalanceDetector
from .periodic_work import PeriodicWorkDetector
from .sequence_length import SequenceLengthDetector
from .stages import StagesDetector

DETECTORS: tuple[Detector, ...] = (
    ExtraWorkDetector(),
    PeriodicWorkDetector(),
    MemoryBalanceDetector(),
    ContextsDetector(),
    StagesDetector(),
    SequenceLengthDetector(),
    ExpertsDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
