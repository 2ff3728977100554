"""Where entries of the past are: in the files of this collector, or in a log that several share."""

from collections.abc import Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from .stretch import held_from


class JournalRangeError(Exception):
    """What is held cannot be read now; the text says why."""


class JournalReader(Protocol):
    """The entries that are kept, for whoever reads them again. From any thread."""

    def since(self, job: str) -> float | None:
        """Return the receive time of the oldest entry that a job's may be among; None for none.

        In seconds since the epoch. Raises JournalRangeError.
        """
        ...

    def between(
        self, jobs: Collection[str], start: float, end: float
    ) -> AbstractContextManager[Path]:
        """Return a journal's folder with at least what jobs and their hosts sent in [start, end].

        In seconds since the epoch; valid until its end. Entering raises JournalRangeError.
        """
        ...


class FileJournalReader:
    """The journal of this collector."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def since(self, job: str) -> float | None:
        """Return the receive time of the oldest entry held, None without any."""
        del job
        return held_from(self._folder)

    @contextmanager
    def between(self, jobs: Collection[str], start: float, end: float) -> Generator[Path]:
        """Return the folder: it has everything."""
        del jobs, start, end
        yield self._folder
