"""Settings of the API: who may ask, and what it says about agents."""

import hashlib
import math
import re
from typing import Literal

from pydantic import AwareDatetime, Field, SecretStr, field_validator

from ...settings import SettingsSection

Role = Literal["ingest", "read", "admin"]

DIGEST_PREFIX = "sha256:"
_DIGEST = re.compile(r"sha256:[0-9a-fA-F]{64}")


class TokenSettings(SettingsSection):
    """One bearer token."""

    token: SecretStr = Field(
        description="sha256: and the hex digest of the token (`rankscope tokens new` prints both), "
        "or the token itself, at least 16 characters"
    )
    role: Role = Field(
        description="ingest: sends telemetry; read: also reads; admin: also acts and configures"
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="Patterns of job ids (* ? [..]) it is limited to; empty: none"
    )
    name: str = Field(default="", description="Who uses it; signs what is done with it")
    expires_at: AwareDatetime | None = Field(
        default=None, description="When it is valid no longer (RFC 3339); without it: never"
    )

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of the token."""
        text = self.token.get_secret_value()
        if text.startswith(DIGEST_PREFIX):
            return bytes.fromhex(text.removeprefix(DIGEST_PREFIX))
        return hashlib.sha256(text.encode()).digest()

    @property
    def expires_at_seconds(self) -> float:
        """Return when it is valid no longer, in seconds since the epoch; inf: never."""
        return math.inf if self.expires_at is None else self.expires_at.timestamp()

    @field_validator("token")
    @classmethod
    def _long_enough(cls, token: SecretStr) -> SecretStr:
        text = token.get_secret_value()
        if text.startswith(DIGEST_PREFIX):
            if not _DIGEST.fullmatch(text):
                raise ValueError("write sha256: and 64 hexadecimal digits")
            return token
        if len(text) < 16 or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError("write at least 16 printable ASCII characters without spaces")
        return token


class ApiSettings(SettingsSection):
    """Who may ask, and what is reported."""

    tokens: tuple[TokenSettings, ...] = Field(
        default=(),
        description="Bearer tokens; without any, all is open and only loopback is listened on",
    )
    agent_port: int = Field(
        default=9470, gt=0, lt=65536, description="Port of the agents, for service discovery"
    )
