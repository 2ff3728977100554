"""Notices to people and programs: one file a format, listed in FORMATS.

A format is a module with two functions and its traits, and one line in FORMATS:

    TRAITS = Traits(...)                                    how it is delivered, what it needs
    def request(endpoint, notice, at) -> Request            written for every attempt, and signed
    def outcome(status, body) -> Outcome                    what the receiver's answer means

Neither function opens a connection, keeps anything or knows of attempts: the same notice gives the
same message, under the same id, but for the time of a signature.

In: an endpoint, a notice and the time. Out: a request to send, and what the answer to it means.
Imports: vocabulary; ports.
"""

import re
from collections.abc import Mapping
from typing import Protocol

from ..ports import DeliveryOutcome, HttpPost, NotifiedEndpoint, OutboxNotice
from . import (
    alertmanager,
    alertmanager_api,
    dingtalk,
    feishu,
    pagerduty,
    slack,
    webhook,
    wecom,
)
from .traits import FormatTraits


class NoticeFormat(Protocol):
    """What a format's module offers."""

    @property
    def TRAITS(self) -> FormatTraits:  # noqa: N802  a constant of the module
        """Return how it is delivered, and what its endpoints need."""
        ...

    def request(self, endpoint: NotifiedEndpoint, notice: OutboxNotice, at: float) -> HttpPost:
        """Return the request of one attempt at `at` (seconds since the epoch)."""
        ...

    def outcome(self, status: int, body: bytes) -> DeliveryOutcome:
        """Return what an answer means; `body` is its beginning."""
        ...


FORMATS: Mapping[str, NoticeFormat] = {
    webhook.NAME: webhook,
    alertmanager.NAME: alertmanager,
    alertmanager_api.NAME: alertmanager_api,
    slack.NAME: slack,
    feishu.NAME: feishu,
    dingtalk.NAME: dingtalk,
    wecom.NAME: wecom,
    pagerduty.NAME: pagerduty,
}
"""Name of the format as endpoints give it -> its module."""


def refusal(name: str) -> str | None:
    """Return why a format cannot be used, None when it can."""
    if name in FORMATS:
        return None
    return f"there is no format {name!r}; use one of: {', '.join(FORMATS)}"


def bad_secret(name: str, secret: str) -> str | None:
    """Return what is wrong with a secret for a format, None when nothing is."""
    traits = FORMATS[name].TRAITS
    if traits.credential == "none":
        return f"leave the secret out: {traits.credential_help}" if secret else None
    if not secret:
        needed = traits.credential in ("signing", "required")
        return f"format {name} needs a secret: {traits.credential_help}" if needed else None
    if secret.startswith(alertmanager.SIGNING) and traits.credential in ("signing", "optional"):
        return None  # its base64 is checked where such secrets are made
    if traits.credential == "signing" or not re.fullmatch(traits.credential_pattern, secret):
        return traits.credential_help or "write letters, digits and signs without spaces"
    return None


def bad_rate(name: str, per_minute: int | None) -> str | None:
    """Return what is wrong with a rate for a format, None when nothing is."""
    traits = FORMATS[name].TRAITS
    if per_minute is None:
        return None
    if traits.per_minute is None:
        return f"format {name} has no rate: every change is a message, in order"
    if traits.most_per_minute is not None and per_minute > traits.most_per_minute:
        return f"{name} takes at most {traits.most_per_minute} messages a minute"
    return None
