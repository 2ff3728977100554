"""Readers of collectives: NCCL RAS, NCCL Inspector, PyTorch Flight Recorder."""

from typing import Literal

from pydantic import Field

from ...settings import SettingsSection
from .values import AbsolutePath, ListenAddress


class RasSettings(SettingsSection):
    """NCCL's RAS service: how many collectives each rank launched, and who does not answer."""

    ask: Literal["leader", "all", "off"] = Field(
        default="leader",
        description="which agents ask the service, whose answer is about the whole job: leader "
        "(that of the node with the job's rank 0), all, off",
    )
    address: ListenAddress = Field(
        default="",
        description="HOST:PORT; default the process's own NCCL_RAS_ADDR, else localhost:28028",
    )
    period_seconds: float = Field(
        default=5.0,
        ge=1.0,
        le=600,
        description="seconds between two questions; longer by itself where answers take long: at "
        "most a twentieth of the time is spent asking",
    )
    timeout_seconds: float = Field(
        default=6.0, ge=1.0, le=120, description="seconds one whole answer may take"
    )
    max_bytes: int = Field(
        default=64 << 20, ge=4096, le=1 << 30, description="bytes one answer may have"
    )


class JobFolder(SettingsSection):
    """A folder in which the processes of one job write."""

    path: AbsolutePath = Field(description="the folder")
    job: str = Field(description="id of the job that writes there")
    attempt: int | None = Field(default=None, ge=0, description="attempt of the job")


class InspectorSettings(SettingsSection):
    """NCCL Inspector: durations and bandwidths of collectives, from the files that it writes."""

    follow: bool = Field(
        default=True,
        description="read the folders of processes with NCCL_INSPECTOR_ENABLE=1 "
        "(NCCL_INSPECTOR_DUMP_DIR, else nccl-inspector-JOB in their working folder)",
    )
    folders: tuple[JobFolder, ...] = Field(default=(), description="more folders to read")
    operations_every: int = Field(
        default=10,
        ge=0,
        le=1_000_000,
        description="each so many-th operation, by its number, is also sent by itself, so that "
        "the same ones of all ranks can be compared; 0: none",
    )


class FlightRecorderSettings(SettingsSection):
    """PyTorch's Flight Recorder: dumps that each rank's process writes on a time-out."""

    follow: bool = Field(
        default=True,
        description="read the dumps of processes that a launcher gave a rank, where torch writes "
        "them (TORCH_FR_DUMP_TEMP_FILE, TORCH_NCCL_DEBUG_INFO_TEMP_FILE or the HCCL twin, else the "
        "user's cache)",
    )
    folders: tuple[JobFolder, ...] = Field(
        default=(), description="more folders with dumps, whose names end with the rank"
    )
    max_bytes: int = Field(
        default=64 << 20, ge=4096, le=256 << 20, description="bytes one dump may have"
    )
    ask: bool = Field(
        default=False,
        description="ask the processes of a job that stands still for dumps, through the pipe of "
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE: once a standstill",
    )
    debug_server: str = Field(
        default="localhost:25999",
        description="where ask also looks for torch's debug server, on the node of rank 0 "
        "(torch.distributed.debug.start_debug_server); empty: nowhere",
    )
    ask_after_seconds: float = Field(
        default=60.0,
        ge=10,
        le=3600,
        description="seconds without a logged step or a launched collective after which a job is "
        "asked",
    )
    ask_every_seconds: float = Field(
        default=600.0, ge=60, le=86400, description="least seconds between two requests to a job"
    )
