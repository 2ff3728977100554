"""Tables that people paste: of devices (nvidia-smi and its kin), links, disks, memory, ports.

`dated_tables` finds them in logs, with the time of each; `meanings` tells which lines of them speak
of a fault; `placing` whose devices they show; `adding` makes samples and events of both.

In: logs with a table in them. Out: faults beside those of kernels, samples of devices. Imports:
formats, vocabulary; found, job, kernel_events, kernel_logs, walk.
"""

from .adding import add
from .placing import TableJob

__all__ = ["TableJob", "add"]
