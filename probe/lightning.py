"""The probe as a callback of the Lightning Trainer.

    trainer = Trainer(..., callbacks=[RankscopeCallback()])

`RankscopeCallback` derives from the Callback of `lightning.pytorch`, of `pytorch_lightning`, or of
both where the job has imported both. It is made when it is first asked for, so this module can be
imported before Lightning or without it; asking for the class imports Lightning. Without the
library the class can still be made: it prints why it does nothing.
"""

from collections.abc import Callable
from typing import Any

from .callbacks import CallbackHooks, guarded, lazily
from .hooks.context import reference

__all__ = ["RankscopeCallback"]


class _LightningHooks(CallbackHooks):
    """Attaches when training starts. Steps are the optimizer's own updates.

    Lightning has no hook around one update that also sees accumulated batches, so the probe's
    hooks inside torch count the steps, from the Trainer's own number on. Sends phase `eval` and
    `checkpoint` around validations and saves. Keyword arguments are those of
    `rankscope.probe.attach`. No method raises.
    """

    @guarded
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach, with the module and the first of the trainer's optimizers."""
        optimizers = getattr(trainer, "optimizers", None) or [None]
        self._attach(framework="lightning", model=pl_module, optimizer=optimizers[0])
        self._watch.losses_divided_by = _micro_batches(trainer, pl_module)
        done = getattr(trainer, "global_step", 0)  # updates of all optimizers, a resumed run's too
        if isinstance(done, int) and done > 0:
            self._watch.continue_from(done // len(optimizers))

    @guarded
    def on_train_batch_start(self, *_given: Any, **_known: Any) -> None:
        """End a checkpoint: Lightning has no hook after one."""
        self._saved()

    @guarded
    def on_validation_start(self, *_given: Any, **_known: Any) -> None:
        """Send that this rank evaluates."""
        self._saved()
        if self._watch is not None:
            self._watch.phase("eval")

    @guarded
    def on_validation_end(self, *_given: Any, **_known: Any) -> None:
        """Send that it trains again."""
        if self._watch is not None:
            self._watch.phase("train")

    @guarded
    def on_save_checkpoint(self, *_given: Any, **_known: Any) -> None:
        """Begin a checkpoint: Lightning calls this before it writes one."""
        self._save()

    @guarded
    def on_train_epoch_start(self, *_given: Any, **_known: Any) -> None:
        """End a checkpoint of the last epoch."""
        self._saved()

    @guarded
    def on_train_end(self, *_given: Any, **_known: Any) -> None:
        """Detach."""
        self._saved()
        self._detach()


def _micro_batches(trainer: Any, module: Any) -> Callable[[], int]:
    """Return what tells by what Lightning divides each loss, of an update of fewer batches too.

    A module that steps its optimizers itself has its losses as they are.
    """
    trainer = reference(trainer)
    automatic = getattr(module, "automatic_optimization", True)

    def batches() -> int:
        return int(getattr(trainer(), "accumulate_grad_batches", 1)) if automatic else 1

    return batches


RankscopeCallback: type[Any]
"""The callback; keyword arguments are those of `rankscope.probe.attach`."""

__getattr__ = lazily(
    globals(),
    "RankscopeCallback",
    _LightningHooks,
    [("lightning.pytorch", "Callback"), ("pytorch_lightning", "Callback")],
)
