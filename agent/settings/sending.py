"""What leaves the agent: the Prometheus page, telemetry, what waits for it, forwarded logs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from ...settings import SettingsSection
from .values import ListenAddress, http_url

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{1,4096}")


class ExportSettings(SettingsSection):
    """The Prometheus page."""

    listen: ListenAddress = Field(
        default=":9470", description="HOST:PORT of /metrics; empty: no page"
    )
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


class PushSettings(SettingsSection):
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
        return http_url(value, "write http://HOST:PORT or https://HOST:PORT")


class SpoolSettings(SettingsSection):
    """What waits on disk while the collector is away."""

    folder: Path | None = Field(
        default=None, description="default /var/lib/rankscope/spool, else a folder of the user"
    )
    max_bytes: int = Field(
        default=64 << 20, ge=64 << 10, description="bytes; beyond, the oldest goes"
    )


class ForwardSettings(SettingsSection):
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
        return http_url(value, fix)

    @field_validator("headers")
    @classmethod
    def _sendable(cls, value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
        for name, held in value.items():
            if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(held.get_secret_value()):
                raise ValueError(f"{name}: write the name and the value of an HTTP header")
        return value
