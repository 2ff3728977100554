"""The kernel's log: records of /dev/kmsg and lines of dmesg and journal, and what they mean.

In: records and lines of the kernel's log. Out: fault codes, ends of processes, `log.fault` events.
Imports: vocabulary; json_text, needles.
"""

from .parser import KernelLogParser
from .reading import MOST_ABOVE, KernelLogLine, KernelLogReading, texts
from .records import KernelRecord, line, record
from .reports import DeviceFault, LogFault, OomKill, Report
from .signatures import KernelSignature, relevant

__all__ = [
    "MOST_ABOVE",
    "DeviceFault",
    "KernelLogLine",
    "KernelLogParser",
    "KernelLogReading",
    "KernelRecord",
    "KernelSignature",
    "LogFault",
    "OomKill",
    "Report",
    "line",
    "record",
    "relevant",
    "texts",
]
