"""Values of the training itself: non-finite numbers, loss, gradients, learning rate.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .bad_resume import BadResumeDetector
from .divergence import DivergenceDetector
from .gradients import GradientExplosionDetector
from .loss_spike import LossSpikeDetector
from .nonfinite import NonfiniteDetector
from .peer_values import PeerValuesDetector
from .plateau import PlateauDetector
from .replicas import ReplicasDetector
from .step_details import StepDetailsDetector
from .vanishing import GradientVanishingDetector

DETECTORS: tuple[Detector, ...] = (
    NonfiniteDetector(),
    LossSpikeDetector(),
    DivergenceDetector(),
    PlateauDetector(),
    GradientExplosionDetector(),
    GradientVanishingDetector(),
    BadResumeDetector(),
    ReplicasDetector(),
    PeerValuesDetector(),
    StepDetailsDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
