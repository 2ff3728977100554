"""What `attach` returns: the calls a training loop may make, each of which never raises."""

import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from ..vocabulary.samples import Scalar
from .collectives import CollectiveCounts
from .event_message import EventMessage
from .heartbeat import RankHeartbeat
from .loops import CheckpointSpan, EvaluationSpan, StepSpan, TimedLoader
from .phases import PHASES, PhaseReports
from .sender import DatagramSender
from .timeline import StepTimeline
from .values import NotANumberError, is_tensor, number

T = TypeVar("T")

_SCOPES = {"local", "global"}
_NOTHING: AbstractContextManager[None] = nullcontext()


class Watch:
    """Watches one training process. Every call is cheap, none raises, none waits.

    `failures` counts what went wrong inside the probe and was kept from the job. In a forked
    child (a data loader's worker) every call is nothing: the child is another process.
    `losses_divided_by`, asked at the end of each step, tells by what the loss of each micro-batch
    was divided: frameworks divide by how many an update is meant to have, and do so for an update
    of fewer too, as the last of an epoch is.
    """

    def __init__(
        self,
        *,
        timeline: StepTimeline,
        sender: DatagramSender,
        heartbeat: RankHeartbeat,
        collectives: CollectiveCounts,
        detach: Callable[[], None],
    ) -> None:
        self._timeline = timeline
        self._sender = sender
        self._heartbeat = heartbeat
        self._collectives = collectives
        self._detach = detach
        self.phases = PhaseReports(self._emit_phase)
        self._step = StepSpan(self, timeline)
        self._checkpoint = CheckpointSpan(timeline, self.phases)
        self._evaluation = EvaluationSpan(timeline, self.phases)
        self._pid = os.getpid()
        self._in_child = False
        os.register_at_fork(after_in_child=self._forked)
        self.closers: list[Callable[[], None]] = []
        self.keep: Callable[[str, object, str], bool] | None = None
        self.alarm: Callable[[], None] = _no_alarm
        self.losses_divided_by: Callable[[], int] | None = None
        self.failures = 0

    def step(self, index: int | None = None) -> AbstractContextManager[None]:
        """Return a context manager around one step; give the index where the loop has one."""
        self._step.index = index if isinstance(index, int) else None
        return self._step

    def data(self, loader: Iterable[T]) -> Iterable[T]:
        """Return the loader, with the wait for each batch timed. Its length stays its length."""
        return TimedLoader(self._timeline, loader)

    def dataset(self, dataset: T, locate: Callable[[int], object] | None = None) -> T:
        """Return the dataset as it is; `locate` names the sample of an index: a file and an offset.

        Without it the dataset's own method `locate` is used, where it has one. Called for a few
        samples of a suspicious step, in another thread than the one that trains.
        """
        named = locate if locate is not None else getattr(dataset, "locate", None)
        if callable(named):
            self._timeline.batches.given(named)
        return dataset

    def checkpoint(self) -> AbstractContextManager[None]:
        """Return a context manager around the writing or reading of a checkpoint."""
        return self._checkpoint

    def evaluation(self) -> AbstractContextManager[None]:
        """Return a context manager around an evaluation: phase `eval`, not a stall."""
        return self._evaluation

    def collective(
        self, op: str, group: str | None = None, size_bytes: int | None = None
    ) -> AbstractContextManager[None]:
        """Return a context manager around one collective; `group` None: all ranks."""
        try:
            name = None if group is None else str(group)
            return self._collectives.span(str(op), name, int(size_bytes or 0))
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1
            return _NOTHING

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
        ranks (`global`). Whatever is not a number is ignored and counted in `failures`.
        """
        known_scope = str(scope) if isinstance(scope, str) and scope in _SCOPES else ""
        for metric, value, scope_of in (
            ("training.loss", loss, known_scope),
            ("training.grad_norm", grad_norm, known_scope),
            ("training.learning_rate", learning_rate, ""),
            ("training.tokens", tokens, ""),
            ("training.loss_scale", loss_scale, ""),
        ):
            if value is not None:
                try:
                    self._keep(metric, value, scope_of)
                except Exception:  # noqa: BLE001  the edge of the job: anything may be handed in
                    self.failures += 1

    def end_step(self, index: int | None = None) -> None:
        """End the step in progress: for hooks and framework callbacks; loops use `step`."""
        try:
            if self._in_child:
                return
            for close in self.closers:
                try:
                    close()
                except Exception:  # noqa: BLE001  one reading, not the step
                    self.failures += 1
            if self.losses_divided_by is not None:
                try:
                    self._timeline.open.losses_divided_by = self.losses_divided_by()
                except Exception:  # noqa: BLE001  one value, not the step
                    self.failures += 1
            record = self._timeline.close(index)
            self._heartbeat.step_ended(record.duration)
            self._sender.put(record)
            if self.phases.current != "train":
                self.phases.enter("train")
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1

    def phase(self, name: str) -> None:
        """Send that this rank enters a phase: init, train, eval, checkpoint or shutdown."""
        if name in PHASES:
            self.phases.announced = self.phases.announced or name == "eval"
            self.phases.enter(name)
        else:
            self.failures += 1

    def continue_from(self, index: int) -> None:
        """Give the next step this index, where the loop gives none: for a run that was resumed."""
        if not self._timeline.steps:
            self._timeline.index = index - 1

    @property
    def losses_add_up(self) -> bool:
        """Whether a step's loss is the sum, not the mean, of its micro-batches' losses."""
        return self._timeline.losses_add_up

    @losses_add_up.setter
    def losses_add_up(self, value: bool) -> None:
        self._timeline.losses_add_up = value

    def emit(self, event: str, at: float | None = None, **attributes: Scalar) -> None:
        """Send an event of this rank."""
        when = time.time() if at is None else at
        self._sender.put(EventMessage(event, when, attributes))

    def detach(self) -> None:
        """Send phase `shutdown` and what is left, and remove every hook."""
        try:
            if os.getpid() == self._pid:
                self._detach()
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1

    def _forked(self) -> None:
        self._in_child = True

    def _keep(self, metric: str, value: object, scope: str) -> None:
        try:
            found = number(value)
        except NotANumberError:
            if not is_tensor(value) or self.keep is None or not self.keep(metric, value, scope):
                self.failures += 1
            return
        self._timeline.open.set(metric, found, scope=scope)
        if not math.isfinite(found):
            self.alarm()

    def _emit_phase(self, name: str, at: float) -> None:
        self.emit("training.phase", at, phase=name, step=self._timeline.index + 1)


def _no_alarm() -> None:
    """Do nothing: without torch there are no checks to make more often."""
