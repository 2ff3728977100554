"""The context managers and the iterator that a training loop puts around its parts."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, Protocol, TypeVar

from .phases import PhaseReports
from .timeline import StepTimeline, TimelineSpan

T = TypeVar("T")


class LoopSteps(Protocol):
    """Ends steps, and counts what went wrong inside the probe."""

    failures: int

    def end_step(self, index: int | None = None) -> None:
        """End the step in progress."""
        ...


class StepSpan:
    """Around one step; one object for all steps. A step that raises does not count."""

    __slots__ = ("_steps", "_timeline", "index")

    def __init__(self, steps: LoopSteps, timeline: StepTimeline) -> None:
        self._steps = steps
        self._timeline = timeline
        self.index: int | None = None

    def __enter__(self) -> None:
        timeline = self._timeline
        if not timeline.explicit:
            timeline.explicit = True
            timeline.begin_first()
        timeline.work_begins()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            if not self._timeline.open.own_known:
                self._timeline.work_ends()
            self._steps.end_step(self.index)


class _PauseSpan:
    """Around a pause that is a phase of its own; one inside another counts once."""

    __slots__ = ("_before", "_depth", "_phases", "_timeline")
    _PHASE: ClassVar[str]

    def __init__(self, timeline: StepTimeline, phases: PhaseReports) -> None:
        self._timeline = timeline
        self._phases = phases
        self._depth = 0
        self._before = ""

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begin()
            self._before = self._phases.current
            self._phases.enter(self._PHASE)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._end()
            self._phases.resume(self._before)

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError


class CheckpointSpan(_PauseSpan):
    """Around the writing or reading of a checkpoint."""

    __slots__ = ("_span",)
    _PHASE = "checkpoint"

    def __init__(self, timeline: StepTimeline, phases: PhaseReports) -> None:
        super().__init__(timeline, phases)
        self._span: TimelineSpan | None = None

    def _begin(self) -> None:
        self._timeline.saving = True
        self._span = TimelineSpan(self._timeline.open)

    def _end(self) -> None:
        timeline = self._timeline
        timeline.saving = False
        if self._span is not None:
            step = timeline.open
            seconds = self._span.seconds(step)
            step.checkpoint += seconds
            step.counted += seconds
            timeline.batches.saved()


class EvaluationSpan(_PauseSpan):
    """Around an evaluation: its batches are no wait of a step."""

    __slots__ = ()
    _PHASE = "eval"

    def _begin(self) -> None:
        self._timeline.evaluating = self._phases.announced = True

    def _end(self) -> None:
        self._timeline.evaluating = False
        self._timeline.work_begins()


class TimedLoader(Iterable[T]):
    """A loader that times the wait for each batch; in all else it is the loader."""

    def __init__(self, timeline: StepTimeline, loader: Iterable[T]) -> None:
        self._timeline = timeline
        self._loader = loader

    def __iter__(self) -> Iterator[T]:
        return TimedBatches(self._timeline, iter(self._loader))

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # while being copied, before it has one
            raise AttributeError(name)
        return getattr(self._loader, name)


class TimedBatches(Iterator[T]):
    """The iterator behind Data."""

    __slots__ = ("_batches", "_epoch", "_timeline")

    def __init__(self, timeline: StepTimeline, batches: Iterator[T]) -> None:
        self._timeline = timeline
        self._batches = batches
        self._epoch = timeline.batches.begun()

    def __next__(self) -> T:
        timeline = self._timeline
        if timeline.waiting:
            return next(self._batches)
        timeline.waiting = True
        span = TimelineSpan(timeline.open)
        try:
            batch = next(self._batches)
        finally:
            timeline.waiting = False
            timeline.waited_for_data(span)
        if not timeline.evaluating:
            timeline.batches.take(batch, epoch=self._epoch)
        return batch
