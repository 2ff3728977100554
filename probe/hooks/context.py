"""State shared by the hooks: the job's torch, model and optimizer, the open step, budgets."""

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ..budgets import LOCAL_SHARE, NORM_SHARE, Budget
from ..devices import DeviceReader
from ..patches import Patches
from ..phases import Phases
from ..step_record import StepRecord
from ..timeline import Timeline

_WATCHED_STEPS = 50
"""After a value that was not finite, how many steps are checked whatever it costs."""


class Steps(Protocol):
    """Ends steps: the watch, as the hooks see it."""

    def end_step(self, index: int | None = None) -> None:
        """End the step in progress."""
        ...


class LocalCheck(Protocol):
    """The check of this rank's own gradients."""

    def arm(self) -> None:
        """Be called in the backward passes that begin from now on."""
        ...

    def rest(self) -> None:
        """Be called in the next step only where the check is due in it."""
        ...


class HookContext:
    """Shared by the hooks of one process, all in the thread that trains.

    `torch` is the job's own module. `failures` counts what went wrong in a hook.
    """

    def __init__(
        self,
        *,
        torch: Any,
        steps: Steps,
        timeline: Timeline,
        phases: Phases,
        model: object = None,
        optimizer: object = None,
    ) -> None:
        self.torch = torch
        self.steps = steps
        self.timeline = timeline
        self.phases = phases
        self.patches = Patches()
        self.undo: list[Callable[[], None]] = []
        self.active = True
        self.failures = 0
        self.missing: list[str] = []
        self.device: DeviceReader | None = None
        self.replicated = False
        self.in_backward = False
        self.unscaled: Any = None
        self.scaler: Callable[[], Any] | None = None
        self.updated = False
        self.clipped = False
        self.norm_budget = Budget(NORM_SHARE)
        self.local_budget = Budget(LOCAL_SHARE)
        self.local_check: LocalCheck | None = None
        self._model = reference(model)
        self._step_optimizer = reference(optimizer)
        self._compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)
        self._distributed = False

    @property
    def open(self) -> StepRecord:
        """Return the step in progress."""
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
        return self._step_optimizer()

    @step_optimizer.setter
    def step_optimizer(self, optimizer: object) -> None:
        self._step_optimizer = reference(optimizer)

    def inactive(self) -> bool:
        """Return whether hooks must do nothing: detached, or torch is tracing this very code."""
        return not self.active or self._compiling()

    def distributed(self) -> bool:
        """Return whether the job has a process group; asked until it has one."""
        if not self._distributed:
            dist = getattr(self.torch, "distributed", None)
            ready = getattr(dist, "is_initialized", None)
            self._distributed = bool(ready and ready())
        return self._distributed

    def is_step_optimizer(self, optimizer: object) -> bool:
        """Return whether this optimizer's updates are the steps."""
        step_optimizer = self._step_optimizer()
        return step_optimizer is not None and step_optimizer is optimizer

    def update_ended(self) -> None:
        """End the step, unless the loop marks its steps itself."""
        if not self.timeline.explicit:
            self.steps.end_step()

    def failed(self) -> None:
        """Count an exception that was kept from the job."""
        self.failures += 1

    def alarm(self) -> None:
        """Check gradients at every step for a while: a value was not finite."""
        self.norm_budget.insist(_WATCHED_STEPS)
        self.local_budget.insist(_WATCHED_STEPS)
        if self.local_check is not None:
            self.local_check.arm()

    def reader(self, tensor: Any) -> DeviceReader | None:
        """Return the reader for a CUDA tensor's device, made at the first; None for any other."""
        if not getattr(tensor, "is_cuda", False):
            return None
        if self.device is None:
            self.device = DeviceReader(self.torch, tensor.device)
        return self.device

    def remove(self) -> None:
        """Remove every hook."""
        self.active = False
        while self.undo:
            self.undo.pop()()
        self.patches.undo()


def reference(thing: object) -> Callable[[], Any]:
    """Return a weak reference where there can be one: the probe keeps nothing of the job alive."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: None
