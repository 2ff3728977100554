"""Notices to people and programs: one file a format, listed in FORMATS.

A format is a module with two functions, and one line in FORMATS:

    def body(notice: Notice) -> bytes                               written once, kept, resent as is
    def headers(*, webhook_id, body, secret, at) -> dict[str, str]  written for every attempt
"""

from collections.abc import Mapping
from typing import Protocol

from ..ports import Notice
from . import webhook


class Format(Protocol):
    """What a format's module offers."""

    def body(self, notice: Notice) -> bytes:
        """Return the message."""
        ...

    def headers(self, *, webhook_id: str, body: bytes, secret: str, at: float) -> dict[str, str]:
        """Return the headers of one attempt."""
        ...


FORMATS: Mapping[str, Format] = {webhook.NAME: webhook}
"""Name of the format as endpoints give it -> its module."""

ANNOUNCED = ("alertmanager", "slack", "feishu", "dingtalk", "wecom", "pagerduty")
"""Formats that the contract names and this version does not have yet."""


def refusal(name: str) -> str | None:
    """Return why a format cannot be used, None when it can."""
    if name in FORMATS:
        return None
    known = ", ".join(FORMATS)
    if name in ANNOUNCED:
        return f"format {name!r} is not in this version; use one of: {known}"
    return f"there is no format {name!r}; use one of: {known}"
