"""The node that the agent runs on: its names, its readers, its network, its kernel's log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from ...settings import SettingsSection

JobUser = Literal["owner", "named", "none"]


class NodeSettings(SettingsSection):
    """What this host is called."""

    host: str | None = Field(
        default=None, description="host.name; default the name this machine gives itself"
    )
    cluster: str | None = Field(default=None, description="rankscope.cluster")
    attributes: Mapping[str, str] = Field(
        default_factory=dict, description="more resource attributes, such as network.switch"
    )
    job_user: JobUser = Field(
        default="owner",
        description="who is sent as a job's user: owner (whom the job names by RANKSCOPE_JOB_USER "
        "or SLURM_JOB_USER, else the owner of the process), named (the first alone), none",
    )

    state: Path | None = Field(
        default=None,
        description="folder of what outlives the agent (counters' baselines, open faults); default "
        "/var/lib/rankscope/state, else a folder of the user",
    )

    proc: Path = Field(default=Path("/proc"), description="where the host's /proc is")
    sys: Path = Field(default=Path("/sys"), description="where the host's /sys is")
    dev: Path = Field(default=Path("/dev"), description="where the host's /dev is")

    @field_validator("host")
    @classmethod
    def _named(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("write the name of the host")
        return value


class ReadersSettings(SettingsSection):
    """What is read from the node itself."""

    period_seconds: float = Field(
        default=5.0, ge=0.2, le=300, description="seconds between two readings"
    )
    off: tuple[str, ...] = Field(default=(), description="names of readers that shall not run")


class NetworkSettings(SettingsSection):
    """Network ports, and the GPUs they serve."""

    include: tuple[str, ...] = Field(
        default=(),
        description="patterns of devices or interfaces that are watched in any case, such as eth*; "
        "by default RDMA ports, or plain interfaces where there are none, without those of the "
        "default route and without virtual functions",
    )
    exclude: tuple[str, ...] = Field(
        default=(), description="patterns of devices or interfaces that are never watched"
    )
    rails: Mapping[str, str] = Field(
        default_factory=dict,
        description="rail by device, such as mlx5_0: 0; by default numbered by PCI address",
    )
    switches: Mapping[str, str] = Field(
        default_factory=dict,
        description="switch and its port by device, such as mlx5_0: leaf-3/17; by default the "
        "attribute network.switch of the node",
    )


class KernelLogSettings(SettingsSection):
    """The kernel's log, where devices' faults and OOM kills are reported first."""

    path: Path | None = Field(
        default=None, description="default /dev/kmsg; a FIFO or a file of such lines works too"
    )
    lookback_minutes: float = Field(
        default=60.0,
        ge=0,
        le=1440,
        description="minutes of this boot's log read at the first start, for devices' faults",
    )


class FaultsSettings(SettingsSection):
    """What devices' fault codes mean here."""

    overrides: Path | None = Field(
        default=None,
        description="TOML file of [[fault]] rows (vendor, codes, class, immediate, investigate, "
        "cleared_by) that win over the tables",
    )
