"""What devices, hosts and links report about themselves.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .behind_peers import BehindPeers
from .bootstraps import Bootstraps
from .clock_offsets import ClockOffsets
from .clocks import LowClock
from .config_drift import ConfigDrift
from .congestion import Congestion
from .cpu_time import CpuTime
from .down_ports import DownPorts
from .evictions import Evictions
from .fault_codes import FaultCodes
from .foreign_processes import ForeignProcesses
from .full_disks import FullDisks
from .link_flaps import LinkFlaps
from .lost_devices import LostDevices
from .memory_errors import MemoryErrors
from .nvlinks import NvLinks
from .pcie import PcieLinks
from .port_errors import PortErrors
from .power_limits import PowerLimits
from .row_remaps import RowRemaps
from .slow_collectives import SlowCollectives
from .slow_storage import SlowStorage
from .step_clocks import StepClocks
from .stuck_drivers import StuckDrivers
from .switches import Switches
from .throttling import Throttling
from .transports import Transports

DETECTORS: tuple[Detector, ...] = (
    CpuTime(),
    FaultCodes(),
    LostDevices(),
    Throttling(),
    LowClock(),
    BehindPeers(),
    PowerLimits(),
    MemoryErrors(),
    RowRemaps(),
    NvLinks(),
    PcieLinks(),
    ForeignProcesses(),
    DownPorts(),
    LinkFlaps(),
    PortErrors(),
    Switches(),
    SlowCollectives(),
    Congestion(),
    Transports(),
    Bootstraps(),
    ClockOffsets(),
    StepClocks(),
    FullDisks(),
    SlowStorage(),
    StuckDrivers(),
    Evictions(),
    ConfigDrift(),
)
"""Every detector of this family, with its default parameters: one line each."""
