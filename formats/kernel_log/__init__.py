"""The kernel's log: records of /dev/kmsg and lines of dmesg and journal, and what they mean.

In: records and lines of the kernel's log. Out: fault codes, ends of processes, `log.fault` events.
Imports: vocabulary.
"""

from .parser import Parser
from .records import Record, line, record
from .reports import DeviceFault, LogFault, OomKill, Report
from .signatures import Signature, relevant

__all__ = [
    "DeviceFault",
    "LogFault",
    "OomKill",
    "Parser",
    "Record",
    "Report",
    "Signature",
    "line",
    "record",
    "relevant",
]
