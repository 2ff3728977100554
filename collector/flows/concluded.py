"""The flow of what is over: a pipeline that is asked and takes nothing more."""

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import NoReturn, TypeVar

from ..accounting.watched import JobSummaries
from ..history.journal_reader import JournalReader
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.waiting import UnavailableError
from ..journal.actions import RecordedAction
from ..pipeline.pipeline import DetectionPipeline
from ..profiles.shelf import ProfileShelf

T = TypeVar("T")


class ConcludedFlow:
    """The flow over a pipeline that was evaluated to its end. Nothing is evaluated again.

    An incident of the past would be resolved else, or a second one opened.
    """

    ready = True

    def __init__(
        self, pipeline: DetectionPipeline, *, history: JournalReader, profiles: ProfileShelf
    ) -> None:
        self._pipeline = pipeline
        self._one = threading.Lock()
        self.history = history
        self.profiles = profiles
        self.summaries = JobSummaries(self)
        self.own_summaries = self.summaries

    def polls(self) -> bool:
        """Return False: what stores scrape now is not of the past."""
        return False

    def gateway(self) -> None:
        """Return None: there is nobody to pass requests on to."""

    def warnings(self) -> list[str]:
        """Return none."""
        return []

    def start(self) -> None:
        """Do nothing: no thread is needed."""

    def stop(self, *, until: float = math.inf) -> None:
        """Do nothing: nothing was taken."""

    def trim(self, now: float) -> int:
        """Return 0: nothing is kept."""
        del now
        return 0

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Raise UnavailableError."""
        del payload
        self._refuse()

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Raise UnavailableError."""
        del action, timeout_seconds
        self._refuse()

    def read(self, question: Callable[[DetectionPipeline], T]) -> T:
        with self._one:
            return question(self._pipeline)

    def _refuse(self) -> NoReturn:
        raise UnavailableError("the past is looked at: nothing is taken")
