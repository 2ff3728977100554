"""A thread that asks the collector every few seconds for one kind of request, and obeys it."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence

from .asking import CollectorCallError

_log = logging.getLogger(__name__)


class PolledRequests(ABC):
    """Asks every few seconds, and does what is asked for, one request after the other.

    `name`: of the thread. `asked`: the requests in words, for logs.
    """

    def __init__(self, name: str, asked: str, *, seconds: float) -> None:
        self._asked = asked
        self._seconds = seconds
        self._trouble = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, timeout: float) -> None:
        """End, after so many seconds at most; children that run end with this process."""
        self._stopping.set()
        self._thread.join(timeout)

    def step(self) -> None:
        """Ask, and do what is asked for; a collector that cannot be asked is logged once."""
        try:
            rows = self._fetched()
        except CollectorCallError as error:
            if not self._trouble:
                _log.warning("%s cannot be fetched: %s", self._asked, error)
            self._trouble = True
            return
        self._trouble = False
        for row in rows:
            self._obey(row)

    @abstractmethod
    def _fetched(self) -> Sequence[object]:
        """Return what is asked for; raises CollectorCallError."""

    @abstractmethod
    def _obey(self, row: object) -> None:
        """Do what one request asks for, which may be of any form."""

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self.step()
            except Exception:  # noqa: BLE001  the edge of one round: the next one asks again
                _log.exception("of %s one could not be obeyed", self._asked)
