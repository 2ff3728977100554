"""What an operator may set for the agent: one section a part, every default usable.

In: a file and the environment. Out: one object of frozen sections. Imports: formats, settings,
vocabulary; listening.
"""

from ...settings import SettingsSection
from .collectives import FlightRecorderSettings, InspectorSettings, JobFolder, RasSettings
from .devices import AttributionSettings, ExportersSettings, ExporterTargetSettings
from .logs import LogFiles, LogsSettings, OwnLogFormat
from .node import (
    FaultsSettings,
    JobUser,
    KernelLogSettings,
    NetworkSettings,
    NodeSettings,
    ReadersSettings,
)
from .processes import (
    CheckingSettings,
    ProbeSettings,
    ProfilingSettings,
    RestartingSettings,
    StacksSettings,
)
from .sending import ExportSettings, ForwardSettings, PushSettings, SpoolSettings

__all__ = [
    "FOREIGN",
    "AgentSettings",
    "AttributionSettings",
    "CheckingSettings",
    "ExportSettings",
    "ExporterTargetSettings",
    "ExportersSettings",
    "FaultsSettings",
    "FlightRecorderSettings",
    "ForwardSettings",
    "InspectorSettings",
    "JobFolder",
    "JobUser",
    "KernelLogSettings",
    "LogFiles",
    "LogsSettings",
    "NetworkSettings",
    "NodeSettings",
    "OwnLogFormat",
    "ProbeSettings",
    "ProfilingSettings",
    "PushSettings",
    "RasSettings",
    "ReadersSettings",
    "RestartingSettings",
    "SpoolSettings",
    "StacksSettings",
]

FOREIGN = (
    "actions", "api", "checks", "detectors", "evaluation", "http", "intake", "journal",
    "kubernetes", "log", "long_term", "past", "profiles", "prometheus", "store", "users",
    "webhooks",
)  # fmt: skip
"""Sections of the collector: their variables may stand in the agent's environment too."""


class AgentSettings(SettingsSection):
    """The agent's settings file."""

    export: ExportSettings = ExportSettings()
    probe: ProbeSettings = ProbeSettings()
    push: PushSettings = PushSettings()
    spool: SpoolSettings = SpoolSettings()
    node: NodeSettings = NodeSettings()
    readers: ReadersSettings = ReadersSettings()
    network: NetworkSettings = NetworkSettings()
    attribution: AttributionSettings = AttributionSettings()
    kernel_log: KernelLogSettings = KernelLogSettings()
    faults: FaultsSettings = FaultsSettings()
    exporters: ExportersSettings = ExportersSettings()
    logs: LogsSettings = LogsSettings()
    forward: ForwardSettings = ForwardSettings()
    profiling: ProfilingSettings = ProfilingSettings()
    checking: CheckingSettings = CheckingSettings()
    restarting: RestartingSettings = RestartingSettings()
    stacks: StacksSettings = StacksSettings()
    ras: RasSettings = RasSettings()
    inspector: InspectorSettings = InspectorSettings()
    flight_recorder: FlightRecorderSettings = FlightRecorderSettings()
