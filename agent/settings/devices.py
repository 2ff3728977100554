"""Accelerators: who holds which, and which exporters of vendors report about them."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from ...settings import SettingsSection
from .values import http_url


class AttributionSettings(SettingsSection):
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


class ExporterTargetSettings(SettingsSection):
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
        return http_url(value, "write http://HOST:PORT/metrics or https://HOST:PORT/metrics")

    @model_validator(mode="after")
    def _usable_table(self) -> "ExporterTargetSettings":
        if self.table is None:
            return self
        if self.vendor == "auto":
            raise ValueError("a table of your own needs vendor: write whose exporter it is")
        from ...formats import exporters  # noqa: PLC0415  only where a site has its own table

        exporters.overridden(exporters.load(self.vendor), self.table)
        return self


class ExportersSettings(SettingsSection):
    """Vendors' exporters that are read."""

    targets: tuple[ExporterTargetSettings, ...] = Field(
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
