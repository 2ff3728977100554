"""What the store of another collector has written: for waiting requests, streams and the ledger.

Sent to whoever listens now, outside of any stream: the database has it all, and what is missed here
is found there by the next request.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import structlog
from nats.aio.msg import Msg

from ..journal.actions import PendingAction
from ..store.errors import StoreError
from ..store.incidents import RecordedChange
from ..store.store import IncidentDatabaseStore
from . import names
from .connection import NatsConnection

_LOG = structlog.get_logger(__name__)
_CALL_SECONDS = 5.0


class ClusterNews:
    """Announces what this collector's store wrote, and passes on what others announce."""

    def __init__(
        self,
        connection: NatsConnection,
        store: IncidentDatabaseStore,
        pending: PendingAction,
        *,
        name: str,
    ) -> None:
        self._connection = connection
        self._store = store
        self._pending = pending
        self._name = name

    def start(self) -> None:
        """Begin to announce and to listen."""
        self._store.subscribe(self._announce)
        self._connection.call(self._listen(), _CALL_SECONDS)

    def _announce(self, news: Sequence[RecordedChange]) -> None:
        for row in news:
            self._connection.announce(
                names.CHANGED,
                {
                    "by": self._name,
                    "kind": row.kind,
                    "at": row.at,
                    "incident": row.document["id"],
                    "notify": row.notify,
                    "key": row.key,
                    "number": row.number,
                },
            )

    async def _listen(self) -> None:
        client = self._connection.client
        await client.subscribe(names.CHANGED, cb=self._changed)
        await client.subscribe(names.KEPT, cb=self._kept)

    async def _kept(self, message: Msg) -> None:
        found = json.loads(message.data)
        if found["by"] != self._name:
            self._pending.kept(str(found["action"]))

    async def _changed(self, message: Msg) -> None:
        found = json.loads(message.data)
        if found["by"] == self._name:
            return
        try:
            await asyncio.to_thread(self._pass_on, found)
        except StoreError as error:
            _LOG.debug("a change of another collector was not read", error=str(error))

    def _pass_on(self, found: dict[str, Any]) -> None:
        document = self._store.incident(str(found["incident"]))
        if document is None:
            return
        row = RecordedChange(
            kind=str(found["kind"]),
            at=float(found["at"]),
            document=document,
            notify=bool(found["notify"]),
            key=str(found["key"]),
            number=int(found["number"]),
        )
        self._store.written_elsewhere([row])
