"""How long steps take, and who makes them longer.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .checkpoints import CheckpointsDetector
from .data_wait import DataWaitDetector
from .recompiles import RecompilesDetector
from .regressions import RegressionsDetector
from .rotating_pauses import RotatingPausesDetector
from .slow_steps import SlowStepsDetector
from .slow_with_signs import SlowWithSignsDetector
from .starved_devices import StarvedDevicesDetector
from .stragglers import StragglersDetector

DETECTORS: tuple[Detector, ...] = (
    SlowStepsDetector(),
    StragglersDetector(),
    SlowWithSignsDetector(),
    DataWaitDetector(),
    RotatingPausesDetector(),
    RecompilesDetector(),
    CheckpointsDetector(),
    RegressionsDetector(),
    StarvedDevicesDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
