"""Values that several sections of the agent's settings have: addresses, URLs, paths."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from .. import listening


def http_url(value: str, fix: str) -> str:
    """Return a URL that can be asked over HTTP; ValueError with the fix for any other text."""
    parts = urlsplit(value)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.fragment or parts.username:
        raise ValueError(fix)
    return value


def _listens(value: str) -> str:
    if value:
        listening.parse(value)
    return value


def _absolute(value: Path) -> Path:
    _absolute_text(str(value))
    return value


def _absolute_text(value: str) -> str:
    if not value.startswith("/") or ".." in value.split("/"):
        raise ValueError("write an absolute path, without ..")
    return value


ListenAddress = Annotated[str, AfterValidator(_listens)]
"""HOST:PORT, or empty."""

AbsolutePath = Annotated[Path, AfterValidator(_absolute)]

AbsolutePattern = Annotated[str, AfterValidator(_absolute_text)]
"""An absolute path that may have wildcards."""
