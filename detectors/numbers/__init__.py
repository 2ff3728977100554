"""Values of the training itself: non-finite numbers, loss, gradients, learning rate.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .bad_resume import BadResume
from .divergence import Divergence
from .gradients import GradientExplosion
from .loss_spike import LossSpike
from .nonfinite import Nonfinite
from .peer_values import PeerValues
from .plateau import Plateau
from .replicas import Replicas
from .vanishing import GradientVanishing

DETECTORS: tuple[Detector, ...] = (
    Nonfinite(),
    LossSpike(),
    Divergence(),
    Plateau(),
    GradientExplosion(),
    GradientVanishing(),
    BadResume(),
    Replicas(),
    PeerValues(),
)
"""Every detector of this family, with its default parameters: one line each."""
