"""Rounds: one thread asks every device, one after the other, while calls return."""

import math
import threading
import time
from collections.abc import Sequence

from .device_poller import DevicePoller
from .pipe import LinePipe

PATIENCE_SECONDS = 0.1
"""How long after its beginning a round may go on: a call that hangs must not hold others up."""


class DeviceRounds:
    """Asks all devices at each beat, and writes what they found at once.

    One thread finds caches warm from one device to the next, and wakes the agent once. When a round
    does not end, each device that still waits is asked by a thread of its own, and the next round
    begins in a new one; a device whose call is still out is left out of it.
    """

    def __init__(self, pollers: Sequence[DevicePoller], *, pipe: LinePipe, pulse: float) -> None:
        self._pollers = pollers
        self._pipe = pipe
        self._pulse = pulse
        self._lock = threading.Lock()
        self._waiting: list[DevicePoller] = []
        self._asked: set[DevicePoller] = set()
        self._begun = False
        self._thread: threading.Thread | None = None
        self._due = time.monotonic()
        """When this round began or the next one is to begin, in monotonic seconds."""

    def start(self) -> None:
        """Begin the first round."""
        with self._lock:
            self._begin_thread()

    def check(self) -> float:
        """Look whether the round is over; return the seconds to the next look.

        Never waits for a device: to be called from a thread that makes no calls.
        """
        with self._lock:
            late = time.monotonic() - self._due
            if late < PATIENCE_SECONDS or not self._begun:
                return max(PATIENCE_SECONDS - late, PATIENCE_SECONDS / 2)
            waiting, self._waiting = self._waiting, []
            self._asked.update(waiting)
            for poller in waiting:
                threading.Thread(target=self._ask, args=(poller,), daemon=True).start()
            self._end_round()
            self._begin_thread()
            return self._due + PATIENCE_SECONDS - time.monotonic()

    def _begin_thread(self) -> None:
        """Ask from a new thread: the one before ends when its call returns. Holds the lock."""
        self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(max(0.0, self._due - time.monotonic()))
            if not self._begin_round():
                return
            while poller := self._next():
                self._ask_quietly(poller)
            self._pipe.flush()
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                self._end_round()

    def _begin_round(self) -> bool:
        """Note who is to be asked; return whether this thread still asks."""
        with self._lock:
            if self._thread is not threading.current_thread():
                return False
            self._begun = True
            self._waiting = [one for one in self._pollers if one not in self._asked]
            return True

    def _next(self) -> DevicePoller | None:
        """Return the next device of this round, None where no more wait for this thread."""
        with self._lock:
            if self._thread is not threading.current_thread() or not self._waiting:
                return None
            poller = self._waiting.pop(0)
            self._asked.add(poller)
            return poller

    def _ask_quietly(self, poller: DevicePoller) -> None:
        poller.poll(time.monotonic())
        with self._lock:
            self._asked.discard(poller)

    def _ask(self, poller: DevicePoller) -> None:
        """Ask one device that nobody waits for, and write what it found."""
        self._ask_quietly(poller)
        self._pipe.flush()

    def _end_round(self) -> None:
        """Set the next beat, past those that were missed. Holds the lock."""
        self._begun = False
        missed = math.floor((time.monotonic() - self._due) / self._pulse)
        self._due += self._pulse * max(1, missed)
