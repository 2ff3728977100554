"""What a rank sends every five seconds, steps or not, from a thread that lives when it is stuck."""

import os
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType
from typing import Protocol

from ..vocabulary.samples import Event, Sample, Scalar, attributes
from .dumps import StackDumps
from .phases import PhaseReports
from .placement import ProcessPlacement

_DEEPEST = 40


def stack_text(frame: FrameType) -> str:
    """Return the stack, outermost call first, the innermost forty calls of it."""
    calls: list[str] = []
    here: FrameType | None = frame
    while here is not None and len(calls) < _DEEPEST:
        code = here.f_code
        calls.append(f"{code.co_qualname} ({PurePath(code.co_filename).name}:{here.f_lineno})")
        here = here.f_back
    return "\n".join(reversed(calls))


PERIOD_SECONDS = 5.0
_STALL_SECONDS = 10.0
_STALL_STEPS = 5
_STALL_BEFORE_FIRST_SECONDS = 60.0
"""Set-up, compilation and the first batch take long on a healthy day."""
_STACK_PERIOD_SECONDS = 30.0


class HeartbeatSource(Protocol):
    """Adds samples to every heartbeat."""

    def samples(self, at: float, rank: int) -> list[Sample]:
        """Return the samples of now."""
        ...


class RankHeartbeat:
    """Who and where this rank is, how long since its last step; when stuck, its stack.

    Lives in the sender's thread; `step_ended` is called by the training thread. `look` is called
    with the time, in seconds since the epoch, ten times a second. With `stacks` False a stuck
    rank's stack is not sent.
    """

    def __init__(
        self,
        *,
        placement: ProcessPlacement,
        sources: tuple[HeartbeatSource, ...],
        dumps: StackDumps | None = None,
        stacks: bool = True,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._placement = placement
        self._sources = sources
        self._dumps = dumps
        self._stacks = stacks
        self._file: int | None = None
        self._steady = steady
        self._last_step = steady()
        self._stepped = False
        self._durations: deque[float] = deque(maxlen=64)
        self._main = threading.main_thread().ident
        self._stack_due = 0.0
        self._next = 0.0
        self.phases: PhaseReports | None = None
        self.look: Callable[[float], None] = _nothing
        self.failures = 0

    def step_ended(self, duration: float) -> None:
        """Note the end of a step, in the training thread."""
        self._last_step = self._steady()
        self._stepped = True
        self._durations.append(duration)

    def settled(self) -> bool:
        """Return whether the rank is known; asked before anything is sent."""
        self._placement.refresh()
        return self._placement.settled(stepped=self._stepped)

    def __call__(self, now: float) -> tuple[list[Sample], list[Event]] | None:
        """Return what is due at `now`, or None between two heartbeats."""
        if self.phases is not None:
            self.phases.look(now)
        try:
            self.look(now)
        except Exception:  # noqa: BLE001  requests for profiles, not the sign of life
            self.failures += 1
        events = self._stack(now)
        samples: list[Sample] = []
        self._file = None
        if not 0 < self._next - now <= PERIOD_SECONDS:
            self._next = now + PERIOD_SECONDS
            samples = self._alive(now)
            if self._dumps is not None:
                self._file = self._dumps.beat()
        return (samples, events) if samples or events else None

    def descriptor(self) -> int | None:
        """Return the file of the watchdog's stacks, with every heartbeat: agents come and go."""
        return self._file

    def _alive(self, now: float) -> list[Sample]:
        rank = self._placement.identity().rank
        samples = [
            Sample("training.rank.info", 1.0, now, attributes(self._placement.attributes())),
            Sample("training.progress.age", self.age(), now, attributes({"rank": rank})),
        ]
        for source in self._sources:
            try:
                samples += source.samples(now, rank)
            except Exception:  # noqa: BLE001  one source, not the sign of life
                self.failures += 1
        return samples

    def age(self) -> float:
        """Return seconds since the last step ended; before the first, since the probe came."""
        return self._steady() - self._last_step

    def stalled(self) -> bool:
        """Return whether the last step is longer ago than anything this job's steps explain."""
        if not self._stepped:
            return self.age() > _STALL_BEFORE_FIRST_SECONDS
        usual = statistics.median(self._durations)
        return self.age() > max(_STALL_SECONDS, _STALL_STEPS * usual)

    def _stack(self, now: float) -> list[Event]:
        if not self._stacks or self.age() < _STALL_SECONDS or not self.stalled():
            self._stack_due = 0.0
            return []
        if now < self._stack_due:
            return []
        self._stack_due = now + _STACK_PERIOD_SECONDS
        # Private by its name only: the library reference documents it, and there is no other way.
        frame = sys._current_frames().get(self._main or 0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return []
        labels: dict[str, Scalar] = {
            "rank": self._placement.identity().rank,
            "pid": os.getpid(),
            "text": stack_text(frame),
        }
        return [Event("process.stack", now, labels)]


def _nothing(_now: float) -> None:
    """Do nothing."""
