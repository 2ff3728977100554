"""What an operator may set for the agent: one section a part, every default usable."""

import re
import zoneinfo
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from ..formats import training_logs
from ..settings import Section
from ..vocabulary.addresses import UDP_PORT
from ..vocabulary.profiling import MOST_STEPS
from . import listening
from .collectives.settings import FlightRecorder, Inspector, Ras

FOREIGN = (
    "api", "detectors", "evaluation", "http", "intake", "journal", "kubernetes", "past",
    "profiles", "prometheus", "store", "users", "webhooks",
)  # fmt: skip
"""Sections of the collector: their variables may stand in the agent's environment too."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{1,4096}")


def _url(value: str, fix: str) -> str:
    """Return a URL that can be asked over HTTP; ValueError with the fix for any other text."""
    parts = urlsplit(value)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.fragment or parts.username:
        raise ValueError(fix)
    return value


class Export(Section):
    """The Prometheus page."""

    listen: str = Field(default=":9470", description="HOST:PORT of /metrics; empty: no page")
    dcgm_names: Literal["off", "old", "new", "both"] = Field(
        default="off",
        description="names of dcgm-exporter beside our own: old as up to its 4.8, new as from 4.9",
    )
    dcgm_links: int = Field(
        default=0,
        ge=0,
        le=18,
        description="NVLinks a device for which dcgm-exporter's names of single links are shown; "
        "four series a link and device",
    )
    groups: bool = Field(default=False, description="expose collectives, one series a group")
    max_series: int = Field(default=2000, ge=1, le=200_000, description="most series on the page")

    @field_validator("listen")
    @classmethod
    def _listens(cls, value: str) -> str:
        if value:
            listening.parse(value)
        return value


class Probe(Section):
    """Where training processes reach the agent."""

    socket: Path | None = Field(
        default=None,
        description="Unix socket; default /run/rankscope/probe.sock, else a folder of the user",
    )
    udp_listen: str = Field(
        default="", description=f"HOST:PORT for pods without the socket, such as 0.0.0.0:{UDP_PORT}"
    )

    @field_validator("udp_listen")
    @classmethod
    def _listens(cls, value: str) -> str:
        if value:
            listening.parse(value)
        return value


class Push(Section):
    """Where telemetry goes, as OTLP over HTTP."""

    endpoint: str = Field(
        default="http://127.0.0.1:8470",
        description="URL of the collector; empty: nothing is pushed",
    )
    interval_seconds: float = Field(
        default=1.0, ge=0.1, le=60, description="seconds between two pushes; events leave at once"
    )
    timeout_seconds: float = Field(
        default=10.0, ge=0.1, le=300, description="seconds one push may take"
    )
    token: SecretStr = Field(default=SecretStr(""), description="bearer token of role ingest")
    ca_file: Path | None = Field(default=None, description="certificates to trust for https")

    @field_validator("endpoint")
    @classmethod
    def _http(cls, value: str) -> str:
        if not value:
            return value
        if urlsplit(value).query:
            raise ValueError("write http://HOST:PORT or https://HOST:PORT")
        return _url(value, "write http://HOST:PORT or https://HOST:PORT")


class Spool(Section):
    """What waits on disk while the collector is away."""

    folder: Path | None = Field(
        default=None, description="default /var/lib/rankscope/spool, else a folder of the user"
    )
    max_bytes: int = Field(
        default=64 << 20, ge=64 << 10, description="bytes; beyond, the oldest goes"
    )


JobUser = Literal["owner", "named", "none"]


class Node(Section):
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


class Readers(Section):
    """What is read from the node itself."""

    period_seconds: float = Field(
        default=5.0, ge=0.2, le=300, description="seconds between two readings"
    )
    off: tuple[str, ...] = Field(default=(), description="names of readers that shall not run")


class Network(Section):
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


class Attribution(Section):
    """Who holds which accelerator."""

    kubelet_socket: Path | None = Field(
        default=None,
        description="the kubelet's pod-resources socket; default the variable "
        "DCGM_POD_RESOURCES_KUBELET_SOCKET, else /var/lib/kubelet/pod-resources/kubelet.sock",
    )
    period_seconds: float = Field(
        default=10.0, ge=0.2, le=300, description="seconds between two calls to the kubelet"
    )
    timeout_seconds: float = Field(
        default=5.0, ge=0.1, le=60, description="seconds one call to the kubelet may take"
    )
    max_bytes: int = Field(
        default=16 << 20, ge=4096, le=256 << 20, description="bytes the kubelet's list may have"
    )
    resources: tuple[str, ...] = Field(
        default=(
            "nvidia.com/gpu",
            "nvidia.com/mig-*",
            "nvidia.com/gpu.shared",
            "amd.com/gpu",
            "huawei.com/Ascend*",
            "hygon.com/dcu",
            "hygon.com/dcu-share",
            "cambricon.com/mlu*",
            "metax-tech.com/gpu",
            "kunlunxin.com/xpu",
        ),
        description="extended resources that are accelerators; with * at the end all that begin so",
    )
    drivers: tuple[str, ...] = Field(
        default=("gpu.nvidia.com", "gpu.amd.com"),
        description="drivers of dynamic resources that give out accelerators",
    )
    pod_logs_folder: Path | None = Field(
        default=Path("/var/log/pods"),
        description="kubelet's folder of pods' logs, whose names tell pods' uids; nothing in it is "
        "read",
    )
    hpc_job_folder: Path | None = Field(
        default=None,
        description="folder in which a prolog writes job ids, one file a device index, as "
        "dcgm-exporter reads it",
    )
    pod_uid: bool = Field(
        default=False, description="label pod_uid beside the names of dcgm-exporter"
    )


class KernelLog(Section):
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


class LogFiles(Section):
    """Files of one job that are followed beside those of processes."""

    path: str = Field(description="name or pattern of names, such as /logs/run-7/*.log")
    job: str = Field(description="id of the job that writes them")
    attempt: int | None = Field(default=None, ge=0, description="attempt of the job")
    rank: int | None = Field(
        default=None,
        ge=0,
        description="whose log it is; by default a number after rank in the name, else as the "
        "lines say",
    )
    world_size: int | None = Field(default=None, ge=1, description="ranks that the job has")

    @field_validator("path")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not value.startswith("/") or ".." in value.split("/"):
            raise ValueError("write an absolute path, without ..")
        return value


class OwnLogFormat(Section):
    """A form of lines that no shipped format has."""

    name: str = Field(description="what the format is called", pattern=r"^[\w.-]{1,40}$")
    contains: str = Field(description="a text that every such line has: it is searched first")
    pattern: str = Field(
        description="regular expression of a whole line, without its end; named groups are metrics "
        "of training without `training.`, dots as underscores: step, loss, grad_norm, step_duration"
    )
    units: Mapping[str, str] = Field(
        default_factory=dict,
        description="unit by group, where it is not the metric's own: ms, us, min, KiB, MiB, GiB, "
        "%, k, M, G, T; 1/s for a rate whose inverse is the duration",
    )
    rank: Literal["first", "last", "each"] = Field(
        default="first",
        description="who prints such lines where several ranks write into one file",
    )

    @model_validator(mode="after")
    def _usable(self) -> "OwnLogFormat":
        self.format()
        return self

    def format(self) -> training_logs.LineFormat:
        """Return the format; raises ValueError with what is wrong."""
        return training_logs.own(
            self.name,
            contains=self.contains,
            pattern=self.pattern,
            units=self.units,
            rank=self.rank,
        )


class Logs(Section):
    """What training jobs write to their standard output and error, and to log files."""

    follow: bool = Field(
        default=True,
        description="follow the standard output and error of processes that a launcher gave a "
        "rank, where these are files that the agent may read",
    )
    files: tuple[LogFiles, ...] = Field(default=(), description="more files to follow")
    formats: tuple[OwnLogFormat, ...] = Field(
        default=(), description="forms of lines, tried before those that are shipped"
    )
    time_zone: str | None = Field(
        default=None, description="of times without one, such as UTC; default the machine's"
    )
    cpu_share: float = Field(
        default=0.04,
        ge=0.001,
        le=1.0,
        description="share of a core that reading logs may take; beyond, a sample of the lines is "
        "read",
    )

    @field_validator("time_zone")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                zoneinfo.ZoneInfo(value)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
                raise ValueError("write a name such as UTC or Europe/Berlin") from error
        return value


class Forward(Section):
    """Where lines of followed logs go on to, as OTLP over HTTP; off without an endpoint."""

    endpoint: str = Field(
        default="",
        description="URL of an OTLP logs receiver, to which /v1/logs is added, such as "
        "http://loki:3100/otlp or http://otel-collector:4318; empty: nothing is forwarded",
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict, description="more HTTP headers, such as X-Scope-OrgID"
    )
    token: SecretStr = Field(default=SecretStr(""), description="bearer token")
    ca_file: Path | None = Field(default=None, description="certificates to trust for https")
    interval_seconds: float = Field(
        default=1.0, ge=0.1, le=60, description="seconds between two requests"
    )
    timeout_seconds: float = Field(
        default=10.0, ge=0.1, le=300, description="seconds one request may take"
    )
    max_bytes: int = Field(
        default=8 << 20,
        ge=64 << 10,
        le=1 << 30,
        description="bytes of memory for lines that wait; beyond, the oldest goes",
    )
    bytes_per_second: int = Field(
        default=1 << 20,
        ge=1 << 10,
        description="bytes of lines a second that are forwarded; what is more is dropped",
    )

    @field_validator("endpoint")
    @classmethod
    def _http(cls, value: str) -> str:
        fix = "write http://HOST:PORT/PATH or https://HOST:PORT/PATH, without /v1/logs"
        if not value:
            return value
        if urlsplit(value).query or value.rstrip("/").endswith("/v1/logs"):
            raise ValueError(fix)
        return _url(value, fix)

    @field_validator("headers")
    @classmethod
    def _sendable(cls, value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
        for name, held in value.items():
            if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(held.get_secret_value()):
                raise ValueError(f"{name}: write the name and the value of an HTTP header")
        return value


class Faults(Section):
    """What devices' fault codes mean here."""

    overrides: Path | None = Field(
        default=None,
        description="TOML file of [[fault]] rows (vendor, codes, class, immediate, investigate, "
        "cleared_by) that win over the tables",
    )


class ExporterTarget(Section):
    """One exporter of a vendor."""

    url: str = Field(description="where its metrics are, such as http://127.0.0.1:9400/metrics")
    vendor: Literal["auto", "nvidia", "amd", "ascend", "hygon", "cambricon", "metax", "kunlun"] = (
        Field(default="auto", description="whose exporter it is; auto: by the names on its page")
    )
    prefix: str | None = Field(
        default=None, description="what its names begin with, where it was given another prefix"
    )
    table: Path | None = Field(
        default=None,
        description="TOML file of [[row]]s that win over ours, in the form of the vendors' tables; "
        "needs vendor",
    )

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        return _url(value, "write http://HOST:PORT/metrics or https://HOST:PORT/metrics")

    @model_validator(mode="after")
    def _usable_table(self) -> "ExporterTarget":
        if self.table is None:
            return self
        if self.vendor == "auto":
            raise ValueError("a table of your own needs vendor: write whose exporter it is")
        from ..formats import exporters  # noqa: PLC0415  only where a site has its own table

        exporters.overridden(exporters.load(self.vendor), self.table)
        return self


class Exporters(Section):
    """Vendors' exporters that are read."""

    targets: tuple[ExporterTarget, ...] = Field(
        default=(), description="exporters; of several that show one device the first one counts"
    )
    period_seconds: float | None = Field(
        default=None, ge=0.2, le=300, description="seconds between two pages; default as readers"
    )
    timeout_seconds: float = Field(
        default=2.0, ge=0.1, le=60, description="seconds one whole answer may take"
    )
    max_bytes: int = Field(
        default=16 << 20, ge=4096, le=256 << 20, description="bytes one page may have"
    )
    ca_file: Path | None = Field(default=None, description="certificates to trust for https")

    @field_validator("ca_file")
    @classmethod
    def _there(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError("there is no such file")
        return value


class Profiling(Section):
    """Profiles of training processes that the collector asks for."""

    allowed: bool = Field(
        default=False,
        description="ask the collector for requests, and let ranks of this node be profiled",
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="patterns of job ids (* ? [..]) that may be; empty: every job"
    )
    max_steps: int = Field(default=50, ge=1, le=MOST_STEPS, description="most steps of one profile")
    max_seconds: float = Field(
        default=60.0, gt=0, le=600, description="most seconds; it ends with the step in progress"
    )
    max_bytes: int = Field(
        default=16 << 20, ge=1 << 16, le=256 << 20, description="bytes of a trace, compressed"
    )
    interval_seconds: float = Field(
        default=300.0, ge=0, description="seconds between two profiles of one rank"
    )
    poll_seconds: float = Field(
        default=5.0, ge=0.2, le=300, description="seconds between two questions to the collector"
    )


class Stacks(Section):
    """Python stacks of training processes that make no progress."""

    collect: bool = Field(
        default=True,
        description="send the stacks that probes and their watchdogs take; function and file "
        "names, no values",
    )
    py_spy: bool = Field(
        default=False,
        description="run py-spy (pip install py-spy; the right to trace) where a process is silent "
        "and its watchdog wrote nothing",
    )


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
