"""Who lives, who ended, and whether steps still end.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .ended_hosts import EndedHosts
from .exits import Exits
from .logged_crashes import LoggedCrashes
from .never_started import NeverStarted
from .silent_hosts import SilentHosts
from .stalls import Stalls

DETECTORS: tuple[Detector, ...] = (
    Stalls(),
    Exits(),
    LoggedCrashes(),
    EndedHosts(),
    SilentHosts(),
    NeverStarted(),
)
"""Every detector of this family, with its default parameters: one line each."""
