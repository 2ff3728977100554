"""Device faults: what is wrong with this node's devices, on what evidence, since when, until when.

Every `gpu.fault` event of every reader passes through `FaultTracker.take`: it leaves with class and
actions, a repeat is folded, and one fault reported by two sources is one fault and one event.

In: fault codes of every reader. Out: one `gpu.fault` event a fault, its state for `/faults`.
Imports: vocabulary; devices, state, storms.
"""

from .fault import FaultReport, NodeDeviceFault
from .store import ask_to_clear
from .tracker import FaultTracker
from .writer import FaultWriter

__all__ = ["FaultReport", "FaultTracker", "FaultWriter", "NodeDeviceFault", "ask_to_clear"]
