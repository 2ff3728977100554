"""/webhooks: who is notified, a test message, what was delivered, and sending it again."""

import secrets
from dataclasses import asdict
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from ....alerts import notify
from ....alerts.ports import HAPPENINGS, NotifiedEndpoint, OutboxNotice
from ....vocabulary.answers.notifications import (
    CreatedWebhook,
    DeliveriesDocument,
    DeliveryDocument,
    ReplayedDocument,
    TestedDocument,
    WebhookDocument,
    WebhooksDocument,
)
from ....vocabulary.faults import Severity
from ....vocabulary.incidents import Confidence, Happening
from ....vocabulary.times import rfc3339
from ...settings.store import check_credential, check_faults, check_url
from ...store import addresses, endpoints, sending
from ...store.endpoints import RegisteredEndpoint
from ...store.outbox import OutboxEntry, State
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut, numbered
from ..parameters import Limit, Moment, Number, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from ..time_ranges import Pattern


class NewWebhook(BaseModel):
    """An endpoint to be. For `standard` a secret is made, and shown in the answer, without one."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(max_length=2000)]
    format: str = "standard"
    secret: Annotated[SecretStr | None, Field(validate_default=True)] = None
    per_minute: Annotated[int | None, Field(ge=1)] = None
    events: Annotated[tuple[Happening, ...], Field(min_length=1)] = HAPPENINGS
    jobs: Annotated[list[Pattern], Field(max_length=200)] = Field(default_factory=list)
    severities: Annotated[tuple[Severity, ...], Field(min_length=1)] = ("critical", "warning")

    faults: Annotated[list[Pattern], Field(max_length=100)] = Field(default_factory=list)
    min_probability: Annotated[float, Field(ge=0, le=1)] | None = None
    min_confidence: Confidence | None = None

    @field_validator("faults")
    @classmethod
    def _of_the_catalogue(cls, patterns: list[str]) -> list[str]:
        check_faults(patterns)
        return patterns

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        check_url(url)
        host = urlsplit(url).hostname or ""
        if addresses.literal(host) and addresses.forbidden(host):
            raise ValueError("link-local, metadata and multicast addresses are not taken")
        return url

    @field_validator("format")
    @classmethod
    def _available(cls, name: str) -> str:
        if why := notify.refusal(name):
            raise ValueError(why)
        return name

    @field_validator("secret")
    @classmethod
    def _credential(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        name = info.data.get("format")
        if name is not None and (secret is not None or not _made(name)):
            check_credential(name, "" if secret is None else secret.get_secret_value())
        return secret

    @field_validator("per_minute")
    @classmethod
    def _rate(cls, per_minute: int | None, info: ValidationInfo) -> int | None:
        name = info.data.get("format")
        if name is not None and (why := notify.bad_rate(name, per_minute)):
            raise ValueError(why)
        return per_minute


class DeliveriesQuery(QueryParameters):
    """Which messages."""

    state: Literal["pending", "delivered", "dead", "suppressed"] | None = None
    limit: Limit = 50
    cursor: Number | None = None


class ReplayOrder(BaseModel):
    """Which messages to send again: by default those that were given up."""

    model_config = ConfigDict(extra="forbid")

    states: Annotated[
        tuple[Literal["dead", "delivered", "suppressed"], ...], Field(min_length=1)
    ] = ("dead",)
    since: Moment = 0.0


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes: only for tokens that are not limited to some jobs."""
    routes = ShapeRouter(tags=["webhooks"])
    read = guard.require("read")
    admin = guard.require("admin")

    def unlimited_reader(principal: Annotated[TokenPrincipal, Depends(read)]) -> None:
        principal.check_unlimited()

    def unlimited_admin(principal: Annotated[TokenPrincipal, Depends(admin)]) -> None:
        principal.check_unlimited()

    reading = [Depends(unlimited_reader)]
    writing = [Depends(unlimited_admin)]

    @routes.get("/webhooks", summary="List webhooks", dependencies=reading)
    def webhooks(query: Annotated[PageQuery, Query()]) -> WebhooksDocument:
        rows, after = cut(services.store.webhooks(), limit=query.limit, cursor=query.cursor)
        return WebhooksDocument(items=[_shape(row) for row in rows], next_cursor=after)

    @routes.post("/webhooks", summary="Add a webhook", status_code=201, dependencies=writing)
    def add(body: NewWebhook) -> CreatedWebhook:
        given = body.secret.get_secret_value() if body.secret else ""
        made = None if given or not _made(body.format) else endpoints.new_secret()
        endpoint = NotifiedEndpoint(
            id=f"wh_{secrets.token_hex(8)}",
            url=body.url,
            secret=made or given,
            format=body.format,
            events=tuple(body.events),
            jobs=tuple(body.jobs),
            severities=tuple(body.severities),
            per_minute=body.per_minute,
            faults=tuple(body.faults),
            min_probability=body.min_probability,
            min_confidence=body.min_confidence,
        )
        kept = services.store.add_webhook(endpoint, services.store_clock.now())
        return CreatedWebhook(**asdict(_shape(kept)), secret=made)

    @routes.delete(
        "/webhooks/{webhook:encoded}",
        summary="Delete a webhook",
        status_code=204,
        dependencies=writing,
    )
    def remove(webhook: str) -> None:
        services.store.remove_webhook(webhook, services.store_clock.now())

    @routes.post(
        "/webhooks/{webhook:encoded}/test", summary="Send a test message", dependencies=writing
    )
    def test(webhook: str) -> TestedDocument:
        endpoint = services.store.webhook(webhook).endpoint
        now = services.store_clock.now()
        identity = f"msg_test{secrets.token_hex(12)}"
        format_ = notify.FORMATS[endpoint.format]
        text = "A test message of Rankscope. Nothing is wrong."
        notice = OutboxNotice("webhook.test", now, {"webhook": webhook, "text": text}, id=identity)
        outcome = sending.send(
            format_.request(endpoint, notice, now),
            outcome=format_.outcome,
            now=services.store_clock.now,
        )
        return TestedDocument(
            delivered=outcome.accepted,
            webhook_id=identity,
            status=outcome.status,
            error=outcome.error,
        )

    @routes.get(
        "/webhooks/{webhook:encoded}/deliveries", summary="List deliveries", dependencies=reading
    )
    def deliveries(webhook: str, query: Annotated[DeliveriesQuery, Query()]) -> DeliveriesDocument:
        before = None if query.cursor is None else int(query.cursor)
        rows = services.store.deliveries(
            webhook, state=query.state, limit=query.limit + 1, before=before
        )
        items, after = numbered(rows, lambda row: row.number, limit=query.limit)
        return DeliveriesDocument(items=[_delivery(row) for row in items], next_cursor=after)

    @routes.post(
        "/webhooks/{webhook:encoded}/replay",
        summary="Send messages again",
        status_code=202,
        dependencies=writing,
    )
    def replay(webhook: str, body: ReplayOrder | None = None) -> ReplayedDocument:
        wanted = body or ReplayOrder()
        if not services.store.webhook(webhook).endpoint.enabled:
            raise ProblemError(
                409, "this webhook is disabled; delete it and add it again, or restart"
            )
        states: tuple[State, ...] = tuple(wanted.states)
        count = services.store.replay(
            webhook, states=states, since=wanted.since, now=services.store_clock.now()
        )
        return ReplayedDocument(replayed=count)

    return routes


def _made(name: str) -> bool:
    """Return whether a secret is made for a format where none is given."""
    return notify.FORMATS[name].TRAITS.credential == "signing"


def _shape(row: RegisteredEndpoint) -> WebhookDocument:
    endpoint = row.endpoint
    traits = notify.FORMATS[endpoint.format].TRAITS
    return WebhookDocument(
        id=endpoint.id,
        url=endpoints.redacted(endpoint.url, whole=traits.address_is_secret),
        format=endpoint.format,
        per_minute=endpoint.per_minute or traits.per_minute,
        events=[event for event in HAPPENINGS if event in endpoint.events],
        jobs=list(endpoint.jobs),
        severities=list(endpoint.severities),
        faults=list(endpoint.faults),
        min_probability=endpoint.min_probability,
        min_confidence=endpoint.min_confidence,
        enabled=endpoint.enabled,
        disabled_reason=row.disabled_reason,
        origin="settings" if row.origin == "settings" else "api",
        created_at=rfc3339(row.created_at),
    )


def _delivery(row: OutboxEntry) -> DeliveryDocument:
    return DeliveryDocument(
        webhook_id=row.webhook_id,
        incident=row.incident,
        type=row.type,
        state=row.state,
        created_at=rfc3339(row.created_at),
        due_at=rfc3339(row.due_at),
        finished_at=None if row.finished_at is None else rfc3339(row.finished_at),
        attempts=row.attempts,
        last_status=row.last_status,
        last_error=row.last_error,
    )
