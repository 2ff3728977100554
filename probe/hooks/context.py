"""State shared by the hooks: the job's torch, model and optimizer, the open step, budgets."""

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ..budgets import LOCAL_SHARE, NORM_SHARE, TimeBudget
from ..devices import DeviceReader
from ..gradient_sketch import GradientSketch
from ..patches import LibraryPatches
from ..phases import PhaseReports
from ..step_record import StepRecord
from ..timeline import StepTimeline

TAKES_OVER = 20
"""Updates of another optimizer, or engine, in a row, without one of those that are the steps."""

_WATCHED_STEPS = 50
"""After a value that was not finite, how many steps are checked whatever it costs."""


class HookSteps(Protocol):
    """Ends steps: the watch, as the hooks see it."""

    def end_step(self, index: int | None = None) -> None:
        """End the step in progress."""
        ...


class HookContext:
    """Shared by the hooks of one process, all in the thread that trains.

    `torch` is the job's own module. `failures` counts what went wrong in a hook. `gradient_hook`
    is the one on a parameter; it calls `gradient_seen` in each backward pass, and is relied on for
    that while `gradient_hooked`. `layers` judges gradient norms (layers.py). `traced_update`: a
    compiled update was made whose step is not yet ended. `given_loss`: what an engine was given,
    before it divided and multiplied it. `sharded_norm`: the distributed tensor that clipping made.
    `inner_optimizer`: what the step optimizer calls for its updates. `sketch`: of the gradients of
    the parameter `sketched` in this step, where it is a landmark. What every step passes through
    asks `active` and `compiling` and the references themselves: once a step every call finds cold
    caches and costs microseconds.
    """

    def __init__(
        self,
        *,
        torch: Any,
        steps: HookSteps,
        timeline: StepTimeline,
        phases: PhaseReports,
    ) -> None:
        self.torch = torch
        self.steps = steps
        self.timeline = timeline
        self.phases = phases
        self.patches = LibraryPatches()
        self.undo: list[Callable[[], None]] = []
        self.active = True
        self.failures = 0
        self.missing: list[str] = []
        self.device: DeviceReader | None = None
        self.replicated = False
        self.replica: Callable[[], Any] = _nothing
        self.in_backward = False
        self.unscaled: Any = None
        self.given_loss: Any = None
        self.scaler: Callable[[], Any] | None = None
        self.updated = False
        self.traced_update = False
        self.visible_updates = 0
        self.clipped = False
        self.sharded_norm: Callable[[], Any] = _nothing
        self.inner_optimizer: Callable[[], Any] = _nothing
        self.several_optimizers = False
        self.sketch: GradientSketch | None = None
        self.sketched: Callable[[], Any] = _nothing
        self.layers: Any = None
        self.first_weights = ""
        self.norm_budget = TimeBudget(NORM_SHARE)
        self.local_budget = TimeBudget(LOCAL_SHARE)
        self.gradient_hook: Any = None
        self.gradient_hooked = False
        self.gradient_seen: Callable[[], None] = _nothing
        self._model: Callable[[], Any] = _nothing
        self.step_optimizer_reference: Callable[[], Any] = _nothing
        self.compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)
        self.is_distributed = False

    @property
    def open(self) -> StepRecord:
        return self.timeline.open

    @property
    def model(self) -> Any:
        """Return the job's model, or None where it is unknown or gone."""
        return self._model()

    @model.setter
    def model(self, model: object) -> None:
        self._model = reference(model)

    @property
    def step_optimizer(self) -> Any:
        """Return the optimizer whose updates are the steps."""
        return self.step_optimizer_reference()

    @step_optimizer.setter
    def step_optimizer(self, optimizer: object) -> None:
        self.step_optimizer_reference = reference(optimizer)

    def inactive(self) -> bool:
        """Return whether hooks must do nothing: detached, or torch is tracing this very code."""
        return not self.active or self.compiling()

    def distributed(self) -> bool:
        """Return whether the job has a process group; asked until it has one."""
        if not self.is_distributed:
            dist = getattr(self.torch, "distributed", None)
            ready = getattr(dist, "is_initialized", None)
            self.is_distributed = bool(ready and ready())
        return self.is_distributed

    def is_step_optimizer(self, optimizer: object) -> bool:
        """Return whether this optimizer's updates are the steps."""
        return optimizer is not None and self.step_optimizer_reference() is optimizer

    def update_ended(self) -> None:
        """End the step, unless the loop marks its steps itself."""
        if not self.timeline.explicit:
            self.steps.end_step()

    def end_traced(self) -> None:
        """End the step of a compiled update: called where the next step shows.

        Such an update runs nothing of ours but the one assignment that torch traced (2.13 traces
        the global hooks with `is_compiling()` true and replays what they assign).
        """
        self.traced_update = False
        if self.visible_updates:
            self.visible_updates -= 1
        else:
            self.update_ended()

    def failed(self) -> None:
        """Count an exception that was kept from the job."""
        self.failures += 1

    def alarm(self) -> None:
        """Check gradients at every step for a while: a value was not finite."""
        self.norm_budget.insist(_WATCHED_STEPS)
        self.local_budget.insist(_WATCHED_STEPS)

    def reader(self, tensor: Any) -> DeviceReader | None:
        """Return the reader for a CUDA tensor's device, made at the first; None for any other."""
        if not getattr(tensor, "is_cuda", False):
            return None
        if self.device is None:
            self.device = DeviceReader(self.torch, tensor.device)
        return self.device

    def remove(self) -> None:
        self.active = False
        while self.undo:
            self.undo.pop()()
        self.patches.undo()


def _nothing() -> None:
    """Do nothing: no hook of a backward pass waits for a gradient."""


def reference(thing: object) -> Callable[[], Any]:
    """Return a weak reference where there can be one: the probe keeps nothing of the job alive."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: None
