"""The thread that writes marks: one at a time, each until it is taken or refused.

What is newer for a node replaces what waits for it, so that an API server that is away for a day
costs one write a node. A start writes everything again, from the store: nothing is kept here.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from ...vocabulary.clock import Clock
from ..settings.kubernetes import KubernetesSettings
from ..store.incidents import IncidentFilter, IncidentPage, RecordedChange
from .marks import ConditionMark, NodeMarks
from .server import Outcome

_LOG = structlog.get_logger(__name__)
_FIRST_SECONDS, _LONGEST_SECONDS = 1.0, 300.0
_LOOK_BACK_SECONDS = 7 * 86_400.0
"""Incidents resolved within so long before a start have their nodes cleared."""
_MOST = 1000


class NodeApi(Protocol):
    """What is needed of an API server."""

    error: str

    def patch_status(self, node: str, body: Mapping[str, Any]) -> Outcome:
        """Set conditions of a node."""
        ...

    def create_event(self, body: Mapping[str, Any]) -> Outcome: ...

    def close(self) -> None:
        """Let go of the connections."""
        ...


class IncidentDocuments(Protocol):
    """What is needed of the store."""

    def incidents(
        self, wanted: IncidentFilter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> IncidentPage:
        """Return documents of incidents."""
        ...

    def subscribe(self, listener: Callable[[Sequence[RecordedChange]], None]) -> Callable[[], None]:
        """Call a listener after every change."""
        ...


class ConditionWriter:
    """Keeps the nodes' conditions up to date. `step` is what its thread does."""

    def __init__(
        self,
        *,
        settings: KubernetesSettings,
        api: NodeApi,
        store: IncidentDocuments,
        clock: Clock,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._api = api
        self._store = store
        self._clock = clock
        self._marks = NodeMarks(settings)
        self._waiting: dict[str, ConditionMark] = {}
        self._pause = _FIRST_SECONDS
        self._changed = threading.Condition()
        self._stopping = False
        self._failing = False
        self._unsubscribe: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name="kubernetes", daemon=True)
        self._writes = Counter(
            "rankscope_collector_kubernetes_writes",
            "Node conditions with their events, by outcome: written, refused, again.",
            ["outcome"],
            registry=registry or CollectorRegistry(),
        )

    def start(self) -> None:
        """Take what the store has, follow its changes, and start the thread."""
        self.restore()
        self._thread.start()

    def stop(self) -> None:
        """End; what waits is written after the next start."""
        self._unsubscribe()
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        self._api.close()

    def restore(self) -> None:
        """Take what the store has, and follow its changes from now on."""
        with self._changed:
            self._unsubscribe = self._store.subscribe(self._take)
            going_on = [
                row
                for status in ("open", "acknowledged")
                for row in self._store.incidents(IncidentFilter(status=status), limit=_MOST).items
            ]
            since = self._clock.now() - _LOOK_BACK_SECONDS
            over = self._store.incidents(
                IncidentFilter(status="resolved", since=since), limit=_MOST
            ).items
            self._wait_for(self._marks.restored(going_on, over))

    def step(self) -> bool:
        """Write what waits, the oldest first; return False where something waits for later."""
        while True:
            with self._changed:
                if not self._waiting:
                    self._pause = _FIRST_SECONDS
                    return True
                mark = next(iter(self._waiting.values()))
            outcome = self._write(mark)
            self._writes.labels(outcome).inc()
            if outcome == "again":
                self._report_failure()
                return False
            if outcome == "refused":
                _LOG.error(
                    "the Kubernetes API server refused a node condition: see "
                    "deploy/kubernetes/components/write-back for the rights that are needed",
                    node=mark.node,
                    error=self._api.error,
                )
            elif self._failing:
                self._failing = False
                _LOG.info("the Kubernetes API server takes node conditions again")
            with self._changed:
                if self._waiting.get(mark.node) is mark:
                    del self._waiting[mark.node]

    def _write(self, mark: ConditionMark) -> Outcome:
        outcome = self._api.patch_status(mark.node, mark.condition(self._clock.now()))
        return self._api.create_event(mark.event()) if outcome == "written" else outcome

    def _take(self, news: Sequence[RecordedChange]) -> None:
        with self._changed:
            for row in news:
                self._wait_for(self._marks.take(row.document))

    def _wait_for(self, marks: Sequence[ConditionMark]) -> None:
        for mark in marks:
            self._waiting.pop(mark.node, None)
            self._waiting[mark.node] = mark
        if marks:
            self._changed.notify_all()

    def _report_failure(self) -> None:
        if not self._failing:
            _LOG.warning(
                "the Kubernetes API server does not take node conditions yet",
                error=self._api.error,
                waiting=len(self._waiting),
            )
        self._failing = True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping)
                if self._stopping:
                    return
            if not self.step():
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, self._pause)
                self._pause = min(2 * self._pause, _LONGEST_SECONDS)
