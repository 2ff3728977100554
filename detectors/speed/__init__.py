"""How long steps take, and who makes them longer.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .checkpoints import Checkpoints
from .data_wait import DataWait
from .recompiles import Recompiles
from .regressions import Regressions
from .rotating_pauses import RotatingPauses
from .slow_steps import SlowSteps
from .slow_with_signs import SlowWithSigns
from .stragglers import Stragglers

DETECTORS: tuple[Detector, ...] = (
    SlowSteps(),
    Stragglers(),
    SlowWithSigns(),
    DataWait(),
    RotatingPauses(),
    Recompiles(),
    Checkpoints(),
    Regressions(),
)
"""Every detector of this family, with its default parameters: one line each."""
