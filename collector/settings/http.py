"""Settings of the HTTP server: its address, and bounds on what connections make it wait for."""

from pydantic import Field, field_validator

from ...settings import SettingsSection
from .store import check_url


class HttpSettings(SettingsSection):
    """Where the collector listens, and how much of connections it has patience for."""

    listen: str = Field(
        default="127.0.0.1:8470",
        description="HOST:PORT of everything over HTTP; port 0 takes any free one",
    )

    external_url: str = Field(
        default="",
        description="Address at which people reach the console; notifications link there",
    )

    max_connections: int = Field(
        default=16384,
        ge=16,
        description="Connections at once, as far as the limit of open files allows; beyond, the "
        "longest quiet one is closed, first of those without a valid token",
    )
    head_seconds: float = Field(
        default=10.0,
        gt=0,
        description="How long the head of a request may take to come in, from its first byte or "
        "the start of the connection; then it is closed",
    )
    body_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long a body may take to come in, over gRPC a message; then the connection "
        "is closed",
    )
    answer_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long a client may take less than 64 KiB of its answer; then the "
        "connection is closed",
    )

    @field_validator("external_url")
    @classmethod
    def _address(cls, url: str) -> str:
        if url:
            check_url(url)
        return url

    @field_validator("listen")
    @classmethod
    def _has_host_and_port(cls, text: str) -> str:
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError("write HOST:PORT, such as 127.0.0.1:8470 or [::1]:8470")
        return text

    @property
    def host(self) -> str:
        """Return the address without the brackets of IPv6."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Return the port, 0 for any free one."""
        return int(self.listen.rpartition(":")[2])
