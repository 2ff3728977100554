"""What an operator may set for the agent: one section a part, every default usable.

In: a file and the environment. Out: one object of frozen sections. Imports: formats, settings,
vocabulary; listening.
"""

from ...settings import Section
from .collectives import FlightRecorder, Inspector, JobFolder, Ras
from .devices import Attribution, Exporters, ExporterTarget
from .logs import LogFiles, Logs, OwnLogFormat
from .node import Faults, JobUser, KernelLog, Network, Node, Readers
from .processes import Probe, Profiling, Stacks
from .sending import Export, Forward, Push, Spool

__all__ = [
    "FOREIGN",
    "AgentSettings",
    "Attribution",
    "Export",
    "ExporterTarget",
    "Exporters",
    "Faults",
    "FlightRecorder",
    "Forward",
    "Inspector",
    "JobFolder",
    "JobUser",
    "KernelLog",
    "LogFiles",
    "Logs",
    "Network",
    "Node",
    "OwnLogFormat",
    "Probe",
    "Profiling",
    "Push",
    "Ras",
    "Readers",
    "Spool",
    "Stacks",
]

FOREIGN = (
    "api", "detectors", "evaluation", "http", "intake", "journal", "kubernetes", "log", "long_term",
    "past", "profiles", "prometheus", "store", "users", "webhooks",
)  # fmt: skip
"""Sections of the collector: their variables may stand in the agent's environment too."""


class AgentSettings(Section):
    """The agent's settings file."""

    export: Export = Export()
    probe: Probe = Probe()
    push: Push = Push()
    spool: Spool = Spool()
    node: Node = Node()
    readers: Readers = Readers()
    network: Network = Network()
    attribution: Attribution = Attribution()
    kernel_log: KernelLog = KernelLog()
    faults: Faults = Faults()
    exporters: Exporters = Exporters()
    logs: Logs = Logs()
    forward: Forward = Forward()
    profiling: Profiling = Profiling()
    stacks: Stacks = Stacks()
    ras: Ras = Ras()
    inspector: Inspector = Inspector()
    flight_recorder: FlightRecorder = FlightRecorder()
