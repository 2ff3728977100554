"""Where a collector can be killed: before a write, in the midst of it, and after it.

A kill is no Exception, so that nothing on its way catches it, as nothing catches SIGKILL.
"""

import random
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


class CollectorKilled(BaseException):
    """The process ends here."""


class KillSwitch:
    """Kills at random while it is armed; counts how often, and where."""

    def __init__(self, chance: random.Random, share: float) -> None:
        self._chance = chance
        self._share = share
        self.armed = False
        self.killed: Counter[str] = Counter()

    def point(self, name: str) -> None:
        """Die here, by chance."""
        if self.armed and self._chance.random() < self._share:
            self.killed[name] += 1
            raise CollectorKilled(name)

    def watch(self, database: Any) -> None:
        """Put points around every transaction that writes to a database."""
        write: Callable[[], Any] = database.write

        @contextmanager
        def written() -> Generator[Any, None, None]:
            self.point("before a write")
            with write() as db:
                yield db
                self.point("before a commit")
            self.point("after a commit")

        database.write = written
