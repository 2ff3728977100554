"""Settings of the log that several collectors share."""

import urllib.parse
from pathlib import Path

from pydantic import Field, field_validator

from ...settings import SettingsSection


class LogSettings(SettingsSection):
    """Where payloads are kept: files of one collector, or NATS JetStream for several as one."""

    url: str = Field(
        default="",
        description="nats://HOST:4222, several separated by commas, for several collectors as one; "
        "without it files in the data folder",
    )
    ca_file: Path | None = Field(
        default=None, description="Authorities for tls:// servers; without it those of the system"
    )
    partitions: int = Field(
        default=12,
        ge=1,
        le=256,
        description="Partitions that the collectors share out; fixed once the streams exist",
    )
    replicas: int = Field(
        default=3,
        ge=1,
        le=5,
        description="NATS servers that keep each payload; more than half of them acknowledge it",
    )
    advertise: str = Field(
        default="",
        description="Address at which the other collectors reach this one, such as "
        "http://10.0.0.7:8470; without it the address it listens on",
    )
    lease_seconds: float = Field(
        default=4.0,
        ge=2,
        le=60,
        description="After so long without a sign of a collector the others take its partitions",
    )
    snapshot_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="How often the state of a partition is put into the object store, from which "
        "another collector goes on",
    )

    @field_validator("url")
    @classmethod
    def _nats(cls, url: str) -> str:
        for one in filter(None, url.split(",")):
            found = urllib.parse.urlsplit(one.strip())
            if found.scheme not in ("nats", "tls") or not found.hostname:
                raise ValueError("write nats://HOST:4222 or tls://HOST:4222")
        return url

    @field_validator("advertise")
    @classmethod
    def _address(cls, url: str) -> str:
        if url:
            found = urllib.parse.urlsplit(url)
            if found.scheme not in ("http", "https") or not found.hostname:
                raise ValueError("write http://HOST:PORT")
        return url.rstrip("/")

    @property
    def servers(self) -> list[str]:
        return [one.strip() for one in self.url.split(",") if one.strip()]

    @property
    def shared(self) -> bool:
        """Tell whether several collectors share the log."""
        return bool(self.url)
