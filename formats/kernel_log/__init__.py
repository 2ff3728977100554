"""The kernel's log: records of /dev/kmsg and lines of dmesg and journal, and what they mean."""

from .parser import Parser
from .records import Record, line, record
from .signatures import Signature, relevant
from .told import DeviceFault, LogFault, OomKill, Told

__all__ = [
    "DeviceFault",
    "LogFault",
    "OomKill",
    "Parser",
    "Record",
    "Signature",
    "Told",
    "line",
    "record",
    "relevant",
]
