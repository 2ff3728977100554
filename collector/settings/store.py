"""Settings of the store and of the endpoints that are notified about incidents."""

import base64
import binascii
from collections.abc import Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from ...alerts import notify
from ...alerts.ports import HAPPENINGS
from ...settings import SettingsSection
from ...vocabulary import faults
from ...vocabulary.faults import Severity
from ...vocabulary.incidents import Confidence, Happening

SECRET_PREFIX = "whsec_"  # noqa: S105  what such secrets begin with, none itself


def check_secret(text: str) -> None:
    """Raise ValueError unless this is a signing secret: `whsec_` and base64 of 24 to 64 bytes."""
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or not 24 <= len(key) <= 64:
        raise ValueError("write whsec_ followed by the base64 of 24 to 64 random bytes")


def check_credential(format_: str, secret: str) -> None:
    """Raise ValueError unless this secret is what the format needs."""
    if why := notify.bad_secret(format_, secret):
        raise ValueError(why)
    if secret.startswith(SECRET_PREFIX):
        check_secret(secret)


def check_url(text: str) -> None:
    """Raise ValueError unless this is an http or https address with a host."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # Control characters and spaces never belong into a URL; clients disagree on what they mean.
    if not usable or any(ord(letter) <= 0x20 or ord(letter) == 0x7F for letter in text):
        raise ValueError("write an address such as https://host/path")


def check_faults(patterns: Iterable[str]) -> None:
    """Raise ValueError where a pattern fits no fault id: it would never match."""
    for pattern in patterns:
        if not any(fnmatchcase(fault, pattern) for fault in faults.catalogue()):
            raise ValueError(f"{pattern!r} fits no fault id, such as gpu.lost or network.*")


class StoreSettings(SettingsSection):
    """Where incidents are kept."""

    url: str = Field(
        default="",
        description="SQLAlchemy URL, such as postgresql://USER@HOST/NAME (extra postgresql); "
        "empty: an SQLite file rankscope.db in the data folder",
    )
    keep_days: float = Field(
        default=30.0,
        gt=0,
        description="Days for which finished deliveries stay in the outbox's history",
    )
    keep_incidents_days: float = Field(
        default=365.0,
        gt=0,
        description="Days for which resolved incidents are kept after their last change",
    )
    keep_history_days: float = Field(
        default=730.0,
        gt=0,
        description="Days for which the audit trail and the GPU time used are kept",
    )


class WebhookSettings(SettingsSection):
    """One endpoint that is notified about incidents."""

    url: SecretStr = Field(description="Address; a secret where a part of it is one")
    format: str = Field(
        default="standard", description=f"Form of the message: {', '.join(notify.FORMATS)}"
    )
    # Never made up at start: it would have to be shown in a log for anybody to use it.
    secret: SecretStr = Field(
        default=SecretStr(""),
        validate_default=True,
        description="What the format signs or authenticates with; see the page on notifications",
    )
    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_-]{0,64}$",
        description="Id in the API; default: made from the address",
    )
    events: tuple[Happening, ...] = Field(
        default=HAPPENINGS, min_length=1, description="What it is notified of"
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="Patterns of job ids (* ? [..]); empty: every job"
    )
    severities: tuple[Severity, ...] = Field(
        default=("critical", "warning"),
        min_length=1,
        description="Severities it wants; info never pages unless it is named here",
    )
    per_minute: int | None = Field(
        default=None,
        ge=1,
        description="Most messages a minute to people; more are folded into one (default: 2)",
    )
    faults: tuple[str, ...] = Field(
        default=(),
        description="Patterns of fault ids: only incidents with such a first cause, once it lasts; "
        "empty: any",
    )
    min_probability: float | None = Field(
        default=None, ge=0, le=1, description="How probable the first cause must be; null: any"
    )
    min_confidence: Confidence | None = Field(
        default=None,
        description="The same where a cause has no calibrated probability; "
        "null: high with min_probability, else any",
    )

    @field_validator("url")
    @classmethod
    def _address(cls, url: SecretStr) -> SecretStr:
        check_url(url.get_secret_value())
        return url

    @field_validator("format")
    @classmethod
    def _known(cls, name: str) -> str:
        if why := notify.refusal(name):
            raise ValueError(why)
        return name

    @field_validator("faults")
    @classmethod
    def _of_the_catalogue(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        check_faults(patterns)
        return patterns

    @field_validator("secret")
    @classmethod
    def _credential(cls, secret: SecretStr, info: ValidationInfo) -> SecretStr:
        if "format" in info.data:  # else the format is what is wrong
            check_credential(info.data["format"], secret.get_secret_value())
        return secret

    @field_validator("per_minute")
    @classmethod
    def _rate(cls, per_minute: int | None, info: ValidationInfo) -> int | None:
        if "format" in info.data and (why := notify.bad_rate(info.data["format"], per_minute)):
            raise ValueError(why)
        return per_minute
