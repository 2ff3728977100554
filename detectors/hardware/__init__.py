"""What devices, hosts and links report about themselves.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .active_checks import ActiveChecksDetector
from .behind_peers import BehindPeersDetector
from .bootstraps import BootstrapsDetector
from .clock_offsets import ClockOffsetsDetector
from .clocks import LowClockDetector
from .config_drift import ConfigDriftDetector
from .congestion import CongestionDetector
from .cpu_time import CpuTimeDetector
from .down_ports import DownPortsDetector
from .evictions import EvictionsDetector
from .fabric import FabricDetector
from .fault_codes import FaultCodesDetector
from .foreign_processes import ForeignProcessesDetector
from .full_disks import FullDisksDetector
from .link_flaps import LinkFlapsDetector
from .lost_devices import LostDevicesDetector
from .memory_errors import MemoryErrorsDetector
from .nvlinks import NvLinksDetector
from .pcie import PcieLinksDetector
from .port_errors import PortErrorsDetector
from .power_limits import PowerLimitsDetector
from .row_remaps import RowRemapsDetector
from .slow_collectives import SlowCollectivesDetector
from .slow_storage import SlowStorageDetector
from .step_clocks import StepClocksDetector
from .stuck_drivers import StuckDriversDetector
from .switches import SwitchesDetector
from .throttling import ThrottlingDetector
from .transports import TransportsDetector

DETECTORS: tuple[Detector, ...] = (
    CpuTimeDetector(),
    FaultCodesDetector(),
    LostDevicesDetector(),
    ThrottlingDetector(),
    LowClockDetector(),
    BehindPeersDetector(),
    PowerLimitsDetector(),
    MemoryErrorsDetector(),
    RowRemapsDetector(),
    NvLinksDetector(),
    FabricDetector(),
    PcieLinksDetector(),
    ForeignProcessesDetector(),
    DownPortsDetector(),
    LinkFlapsDetector(),
    PortErrorsDetector(),
    SwitchesDetector(),
    SlowCollectivesDetector(),
    CongestionDetector(),
    TransportsDetector(),
    BootstrapsDetector(),
    ClockOffsetsDetector(),
    StepClocksDetector(),
    FullDisksDetector(),
    SlowStorageDetector(),
    StuckDriversDetector(),
    EvictionsDetector(),
    ConfigDriftDetector(),
    ActiveChecksDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
