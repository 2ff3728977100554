"""Installs the hooks in the job's torch once it is imported, and removes them."""

from types import ModuleType

from . import devices
from .hooks import HOOKS, HookContext, memory, optimizers
from .hooks.gradients import watch_local
from .patches import UnsupportedLibraryError
from .placement import ProcessPlacement
from .timeline import StepTimeline
from .watch import Watch


class TorchHooks:
    """Installs every hook that this torch supports; the others are named in `missing`.

    A torch that is shadowed by something else, or broken, supports none: then the watch works
    as it does without torch.
    """

    def __init__(
        self, *, watch: Watch, timeline: StepTimeline, placement: ProcessPlacement
    ) -> None:
        self._watch = watch
        self._timeline = timeline
        self._placement = placement
        self._model: object = None
        self._optimizer: object = None
        self.context: HookContext | None = None
        self.missing: list[str] = []

    def use(self, model: object, optimizer: object) -> None:
        """Take note of the job's model and optimizer, where it names them."""
        self._model = model if model is not None else self._model
        self._optimizer = optimizer if optimizer is not None else self._optimizer
        context = self.context
        if context is None:
            return
        if model is not None:
            context.model = model
        if optimizer is not None and not context.is_step_optimizer(optimizer):
            context.step_optimizer = optimizer
            try:
                watch_local(context, optimizer)
            except Exception:  # noqa: BLE001  not an optimizer of torch: one check fewer
                context.failed()

    def install(self, torch: ModuleType) -> None:
        """Install the hooks in this torch; never raises."""
        watch = self._watch
        try:
            context = HookContext(
                torch=torch, steps=watch, timeline=self._timeline, phases=watch.phases
            )
        except Exception as error:  # noqa: BLE001  whatever this is, it is not torch
            self.missing.append(f"torch: {error}")
            return
        self.context = context
        context.missing = self.missing
        for install in HOOKS:
            try:
                install(context)
            except (UnsupportedLibraryError, AttributeError, TypeError) as error:
                self.missing.append(f"{install.__module__.rpartition('.')[2]}: {error}")
        self.use(self._model, self._optimizer)
        books = memory.AllocatorReadings(context)

        def on_device() -> None:
            books.close()
            self._find_hardware(context)

        watch.closers.append(optimizers.closer(context, on_device))
        watch.keep = self._keep
        watch.alarm = context.alarm

    def remove(self) -> None:
        if self.context is not None and self.context.traced_update:
            self.context.end_traced()
        self._watch.closers.clear()
        self._watch.keep = None
        if self.context is not None:
            self._watch.failures += self.context.failures
            self.context.remove()
            self.context = None

    def _keep(self, metric: str, value: object, scope: str) -> bool:
        reader = None if self.context is None else self.context.reader(value)
        return reader is not None and reader.keep(metric, value, scope=scope)

    def _find_hardware(self, context: HookContext) -> None:
        if context.device is None or self._placement.hardware is not None:
            return
        self._placement.hardware = ""  # asked once, whatever the answer
        self._placement.hardware = devices.hardware_id(context.torch, context.device.index) or ""
