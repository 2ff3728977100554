"""Settings of the API: who may ask, and what it says about agents."""

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from ...settings import Section

Role = Literal["ingest", "read", "admin"]


class TokenSettings(Section):
    """One bearer token."""

    token: SecretStr = Field(description="The token itself, at least 16 characters")
    role: Role = Field(
        description="ingest: sends telemetry; read: also reads; admin: also acts and configures"
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="Patterns of job ids (* ? [..]) it is limited to; empty: none"
    )
    name: str = Field(default="", description="Who uses it; signs what is done with it")

    @field_validator("token")
    @classmethod
    def _long_enough(cls, token: SecretStr) -> SecretStr:
        text = token.get_secret_value()
        if len(text) < 16 or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError("write at least 16 printable ASCII characters without spaces")
        return token


class ApiSettings(Section):
    """Who may ask, and what is reported."""

    tokens: tuple[TokenSettings, ...] = Field(
        default=(),
        description="Bearer tokens; without any, all is open and only loopback is listened on",
    )
    agent_port: int = Field(
        default=9470, gt=0, lt=65536, description="Port of the agents, for service discovery"
    )
