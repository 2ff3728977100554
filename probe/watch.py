"""What `attach` returns: the calls a training loop may make, each of which never raises."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, TypeVar

from ..vocabulary.samples import Event, Sample, Scalar
from . import groups
from .collectives import Collectives
from .identity import Identity
from .pulse import Pulse
from .sender import Sender
from .step_record import StepRecord
from .timeline import Timeline

T = TypeVar("T")

_RECORDED = {
    "loss": "training.loss",
    "grad_norm": "training.grad_norm",
    "learning_rate": "training.learning_rate",
    "tokens": "training.tokens",
    "loss_scale": "training.loss_scale",
}
_SCOPED = {"loss", "grad_norm"}
_SCOPES = {"local", "global"}


class Notice:
    """An event on its way to the agent."""

    __slots__ = ("at", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.at = event.at

    def ready(self, now: float) -> bool:  # noqa: ARG002  an event is complete when it happens
        """Return True."""
        return True

    def parts(self, rank: int) -> tuple[list[Sample], list[Event]]:
        """Return the event, with the rank as it is known when it is sent."""
        said = {"rank": rank, **self.event.attributes}
        return [], [Event(self.event.name, self.at, said)]


class Watch:
    """Watches one training process. Every call is cheap, none raises, none waits.

    `failures` counts what went wrong inside the probe and was kept from the job.
    """

    def __init__(
        self,
        *,
        timeline: Timeline,
        sender: Sender,
        pulse: Pulse,
        collectives: Collectives,
        identity: Callable[[], Identity],
        detach: Callable[[], None],
    ) -> None:
        self._timeline = timeline
        self._sender = sender
        self._pulse = pulse
        self._collectives = collectives
        self._identity = identity
        self._detach = detach
        self._step = _Step(self)
        self._checkpoint = _Checkpoint(self)
        self._phase = ""
        self.failures = 0

    def step(self, index: int | None = None) -> AbstractContextManager[None]:
        """Return a context manager around one step; give the index where the loop knows it."""
        self._step.index = index if isinstance(index, int) else None
        return self._step

    def data(self, loader: Iterable[T]) -> Iterable[T]:
        """Return the loader, with the wait for each batch timed. Its length stays its length."""
        return _Data(self._timeline, loader)

    def checkpoint(self) -> AbstractContextManager[None]:
        """Return a context manager around the writing or reading of a checkpoint."""
        return self._checkpoint

    def collective(
        self, op: str, group: str | None = None, size_bytes: int | None = None
    ) -> AbstractContextManager[None]:
        """Return a context manager around one collective; `group` None: all ranks."""
        try:
            name = group or groups.world(self._identity().world_size).name
            return self._collectives.span(str(op), str(name), int(size_bytes or 0))
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1
            return nullcontext()

    def record(
        self,
        *,
        loss: object = None,
        grad_norm: object = None,
        learning_rate: object = None,
        tokens: object = None,
        loss_scale: object = None,
        scope: str | None = None,
    ) -> None:
        """Note values of the step in progress: numbers, or tensors, which are read later.

        `scope` says whether loss and grad_norm are this rank's (`local`) or were reduced over
        ranks (`global`). Whatever is no number is ignored and counted in `failures`.
        """
        given = {
            "loss": loss,
            "grad_norm": grad_norm,
            "learning_rate": learning_rate,
            "tokens": tokens,
            "loss_scale": loss_scale,
        }
        for name, value in given.items():
            if value is None:
                continue
            try:
                more: dict[str, Scalar] = {}
                if name in _SCOPED and scope in _SCOPES:
                    more["scope"] = str(scope)
                self._timeline.open.said.append((_RECORDED[name], float(value), more))  # type: ignore[arg-type]
            except Exception:  # noqa: BLE001  the edge of the job: anything may be handed in
                self.failures += 1

    def detach(self) -> None:
        """Say that the run ended cleanly, send what is left, and take every hook away."""
        try:
            self._detach()
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1

    def end_step(self, index: int | None = None) -> None:
        """End the step in progress: for the hooks and the framework callbacks."""
        record: StepRecord = self._timeline.close(index)
        self._pulse.step_ended(record.duration)
        self._sender.put(record)
        if self._phase != "train":
            self.phase("train")

    def phase(self, name: str) -> None:
        """Say that this rank entered a phase: init, train, eval, checkpoint or shutdown."""
        if name == self._phase:
            return
        self._phase = name
        self.say("training.phase", phase=name, step=self._timeline.index + 1)

    def say(self, event: str, **attributes: Scalar) -> None:
        """Send an event of this rank."""
        self._sender.put(Notice(Event(event, self._timeline.wall(), attributes)))


class _Step:
    """The step context; one object for all steps."""

    __slots__ = ("_watch", "index")

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.index: int | None = None

    def __enter__(self) -> None:
        timeline = self._watch._timeline  # noqa: SLF001  two halves of one thing
        if not timeline.explicit:
            timeline.explicit = True
            if timeline.steps == 0:
                timeline.begin_first()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        try:
            self._watch.end_step(self.index)
        except Exception:  # noqa: BLE001  the edge of the job
            self._watch.failures += 1


class _Checkpoint:
    """The checkpoint context; nesting counts once."""

    __slots__ = ("_began", "_depth", "_watch")

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._depth = 0
        self._began = 0.0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = time.perf_counter()
            self._watch.phase("checkpoint")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            watch = self._watch
            watch._timeline.open.checkpoint += time.perf_counter() - self._began  # noqa: SLF001
            watch.phase("train" if watch._timeline.steps else "init")  # noqa: SLF001


class _Data(Iterable[T]):
    """A loader whose batches are waited for with a watch in hand."""

    def __init__(self, timeline: Timeline, loader: Iterable[T]) -> None:
        self._timeline = timeline
        self._loader = loader

    def __iter__(self) -> Iterator[T]:
        return _Batches(self._timeline, iter(self._loader))

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # while being copied, before it has one
            raise AttributeError(name)
        return getattr(self._loader, name)


class _Batches(Iterator[T]):
    """The iterator behind `_Data`."""

    __slots__ = ("_batches", "_timeline")

    def __init__(self, timeline: Timeline, batches: Iterator[T]) -> None:
        self._timeline = timeline
        self._batches = batches

    def __next__(self) -> T:
        began = time.perf_counter()
        batch = next(self._batches)
        step = self._timeline.open
        step.data += time.perf_counter() - began
        step.data_known = True
        return batch
