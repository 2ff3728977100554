"""The step in progress; owned by the thread that trains.

Spans are added to `open` as they end; `close` completes it and begins the next. Only floats and
references are kept: reading, evaluating and encoding is the sender thread's work.

Every second of a step is counted once. A span that holds another (a collective inside the wait for
data, a garbage collection inside a collective) is counted without it, so that what is left of the
step, `duration - (data + compute + comm + optimizer + checkpoint + gc)`, is the time that the loop
spent on something else: logging, gathering metrics, preprocessing, evaluation.
"""

import threading
import time

from .batch_ring import BatchRing
from .step_record import StepRecord


class StepTimeline:
    """Steps one after the other, end to end.

    Compute is counted in windows: from `work_begins` to the end of a backward pass or of the
    loop's own step span (`work_ends`), less the spans in between. `batches` keeps what they were.
    """

    __slots__ = (
        "_before",
        "_forward",
        "_work_began",
        "batches",
        "began",
        "begun",
        "evaluating",
        "explicit",
        "index",
        "losses_add_up",
        "open",
        "saving",
        "steps",
        "thread",
        "waiting",
    )

    def __init__(self) -> None:
        self.batches = BatchRing()
        self.began = time.perf_counter()
        self.steps = 0
        self.index = -1
        self.begun = False
        self.explicit = False
        self.waiting = False
        self.saving = False
        self.evaluating = False
        self.losses_add_up = False
        self.thread = threading.get_ident()
        self.open = StepRecord()
        self._work_began = self.began
        self._before = 0.0
        self._forward = False

    def begin_first(self, waited: float = 0.0) -> None:
        """Begin the first step at its first sign, not when the probe came: set-up is no step.

        `waited`: seconds already spent on its batch, the first sign of all.
        """
        if not self.begun:
            self.begun = True
            now = time.perf_counter()
            self.began = now - waited
            self.open.counted -= self.open.gc
            self.open.gc = 0.0
            self._work_began = now

    def work_begins(self, *, forward: bool = False) -> bool:
        """Begin a window of compute now: a batch is here, or a forward pass begins.

        Of several forward passes before one backward the first counts. Return whether it did.
        """
        if forward and self._forward:
            return False
        self._forward = forward
        self._work_began = time.perf_counter()
        self._before = self.open.counted
        return True

    def work_ends(self, now: float | None = None) -> None:
        """Count the window that began last as compute, and begin the next."""
        step = self.open
        if now is None:
            now = time.perf_counter()
        own = now - self._work_began - (step.counted - self._before)
        if own > 0.0:
            step.compute += own
            step.counted += own
        step.own_known = True
        self._forward = False
        self._work_began = now
        self._before = step.counted

    def waited_for_peers(self, span: "TimelineSpan") -> None:
        """Count a collective that ended as a wait, unless it is part of a checkpoint."""
        if not self.saving:
            step = self.open
            seconds = span.seconds(step)
            step.comm += seconds
            step.counted += seconds
            step.comm_known = True

    def waited_for_data(self, span: "TimelineSpan", *, evaluating: bool = False) -> None:
        """Count a wait for a batch that ended, unless it is part of an evaluation."""
        step = self.open
        seconds = span.seconds(step)
        self.begin_first(seconds)
        if not (evaluating or self.evaluating):
            step.data += seconds
            step.counted += seconds
            step.data_known = True
        if not self.explicit:
            self.work_begins()

    def close(self, index: int | None) -> StepRecord:
        """End the step now, begin the next, and return the one that ended."""
        now = time.perf_counter()
        record = self.open
        record.at = time.time()
        self.index = record.step = self.index + 1 if index is None else index
        record.duration = now - self.began
        record.losses_add_up = self.losses_add_up
        self.batches.close(record.step)
        self.open = StepRecord()
        self.began = self._work_began = now
        self._before = 0.0
        self._forward = False
        self.steps += 1
        self.thread = threading.get_ident()
        return record


class TimelineSpan:
    """A part of the step being measured: seconds from its beginning, less what else was counted."""

    __slots__ = ("_before", "_began", "_step")

    def __init__(self, step: StepRecord) -> None:
        self._step = step
        self._before = step.counted
        self._began = time.perf_counter()

    def seconds(self, step: StepRecord) -> float:
        """Return the seconds so far; `step` is the open one, another if one ended meanwhile."""
        spent = time.perf_counter() - self._began
        inside = step.counted - (self._before if step is self._step else 0.0)
        return max(0.0, spent - inside)
