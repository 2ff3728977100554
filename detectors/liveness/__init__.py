"""Who lives, who ended, and whether steps still end.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .ended_hosts import EndedHostsDetector
from .exits import ExitsDetector
from .logged_crashes import LoggedCrashesDetector
from .never_started import NeverStartedDetector
from .silent_hosts import SilentHostsDetector
from .stalls import StallsDetector
from .standing_devices import StandingDevicesDetector

DETECTORS: tuple[Detector, ...] = (
    StallsDetector(),
    ExitsDetector(),
    LoggedCrashesDetector(),
    EndedHostsDetector(),
    SilentHostsDetector(),
    NeverStartedDetector(),
    StandingDevicesDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
