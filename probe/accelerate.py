"""The probe as a tracker of Hugging Face Accelerate.

    accelerator = Accelerator(log_with=[RankscopeTracker()])

`RankscopeTracker` derives from accelerate.tracking.GeneralTracker. It is made when it is first
asked for, so this module can be imported before Accelerate or without it; asking for the class
imports Accelerate. Without the library the class can still be made and attaches, and prints that
no Accelerator will take it.
"""

import sys
from typing import Any

from .callbacks import CallbackHooks, guarded, lazily

__all__ = ["RankscopeTracker"]

_LOGGED = {
    "loss": "loss",
    "train_loss": "loss",
    "grad_norm": "grad_norm",
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "tokens": "tokens",
}


class _AccelerateHooks(CallbackHooks):
    """Attaches when it is made, on every rank, and records the values that the loop logs.

    `step` of `log` is ignored: loops log every so many updates, and the probe counts updates.
    Evaluations and saves are the loop's own: `tracker.tracker` is the watch, with `evaluation()`
    and `checkpoint()`. Keyword arguments are those of `rankscope.probe.attach`. No method raises.
    """

    name = "rankscope"
    requires_logging_directory = False
    main_process_only = False
    """Every rank is watched, not rank 0 alone."""

    def __init__(self, run_name: str | None = None, **attaching: Any) -> None:
        super().__init__(**{"framework": "accelerate", "job": run_name, **attaching})
        self._attach()
        self._watch.losses_divided_by = _micro_batches

    @property
    def tracker(self) -> Any:
        return self._watch

    def start(self) -> None:
        """Do nothing: the probe is attached already."""

    def store_init_configuration(self, values: Any) -> None:
        """Ignore the configuration: it may hold what nobody should read."""

    @guarded
    def log(self, values: Any, step: int | None = None, **more: Any) -> None:  # noqa: ARG002
        """Record what has a known name: loss, grad_norm, learning rate, tokens."""
        if isinstance(values, dict):
            known = {_LOGGED[key]: value for key, value in values.items() if key in _LOGGED}
            self._watch.record(**known)

    @guarded
    def finish(self) -> None:
        """Detach; the watch stays, and does nothing more."""
        self._watch.detach()


def _micro_batches() -> int:
    """Return by what Accelerator.backward divides each loss, of an update of fewer batches too.

    It leaves that to DeepSpeed's engine, before which the probe's own hook sees the loss.
    """
    module: Any = sys.modules.get("accelerate.state")
    state = getattr(module, "GradientState", None)
    if state is None or module.AcceleratorState().distributed_type == "DEEPSPEED":
        return 1
    return int(state().num_steps)


RankscopeTracker: type[Any]
"""The tracker; arguments are a run name, which is the job id, and those of `attach`."""

__getattr__ = lazily(
    globals(), "RankscopeTracker", _AccelerateHooks, [("accelerate.tracking", "GeneralTracker")]
)
