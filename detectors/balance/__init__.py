"""Work and memory that are spread unevenly over ranks, stages and experts.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .contexts import Contexts
from .experts import Experts
from .extra_work import ExtraWork
from .memory_balance import MemoryBalance
from .periodic_work import PeriodicWork
from .sequence_length import SequenceLength
from .stages import Stages

DETECTORS: tuple[Detector, ...] = (
    ExtraWork(),
    PeriodicWork(),
    MemoryBalance(),
    Contexts(),
    Stages(),
    SequenceLength(),
    Experts(),
)
"""Every detector of this family, with its default parameters: one line each."""
