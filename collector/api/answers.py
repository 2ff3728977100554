"""Answers about incidents, kept until one of them changes: polling costs nothing meanwhile."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from starlette.responses import JSONResponse, Response

from ...vocabulary.clock import Clock
from ..store.store import IncidentDatabaseStore

MOST_ANSWERS = 64
LONGEST_SECONDS = 60.0
"""Retention deletes incidents without announcing it: no answer is older than this."""


class ResponseCache:
    """Bodies by what was asked for. Safe to ask from any thread."""

    def __init__(self, store: IncidentDatabaseStore, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._revision = 0
        self._held: OrderedDict[Hashable, tuple[int, float, bytes]] = OrderedDict()
        store.subscribe(lambda _news: self._changed())

    def get(self, question: Hashable, make: Callable[[], Any]) -> Response:
        """Return the answer to a question, made anew if an incident changed since the last time.

        `question` holds everything that the answer depends on, the store's incidents aside.
        """
        now = self._clock.now()
        with self._lock:
            revision = self._revision
            held = self._held.get(question)
            if held is not None and held[0] == revision and now - held[1] < LONGEST_SECONDS:
                self._held.move_to_end(question)
                return _response(held[2])
        # A change while it is made moves the revision on: it is kept under the one before.
        body = bytes(JSONResponse(make()).body)
        with self._lock:
            self._held[question] = (revision, now, body)
            self._held.move_to_end(question)
            while len(self._held) > MOST_ANSWERS:
                self._held.popitem(last=False)
        return _response(body)

    def _changed(self) -> None:
        with self._lock:
            self._revision += 1


def _response(body: bytes) -> Response:
    return Response(body, media_type="application/json")
