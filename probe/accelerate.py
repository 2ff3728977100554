"""The probe as a tracker of Hugging Face Accelerate.

    accelerator = Accelerator(log_with=[RankscopeTracker()])

Derives from accelerate.tracking.GeneralTracker where the job has imported it, and from nothing
otherwise. Tested here with a small stand-in that calls the same methods in the same order.
"""

import sys
from typing import Any

from .attaching import attach

_library: Any = sys.modules.get("accelerate.tracking")
_Base: Any = getattr(_library, "GeneralTracker", object)
_LOGGED = {
    "loss": "loss",
    "train_loss": "loss",
    "grad_norm": "grad_norm",
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "tokens": "tokens",
}


class RankscopeTracker(_Base):  # type: ignore[misc]  # the base is known only where it is installed
    """Attaches when it is made, on every rank, and records the values that the loop logs.

    `step` of `log` is ignored: loops log every so many updates, and the probe counts updates.
    Keyword arguments are those of `rankscope.probe.attach`.
    """

    name = "rankscope"
    requires_logging_directory = False
    main_process_only = False
    """Every rank is watched, not rank 0 alone."""

    def __init__(self, run_name: str | None = None, **attaching: Any) -> None:
        said: dict[str, Any] = {"framework": "accelerate", "job": run_name, **attaching}
        self._watch = attach(**said)

    @property
    def tracker(self) -> Any:
        """Return the watch itself."""
        return self._watch

    def start(self) -> None:
        """Do nothing: the probe is attached already."""

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Ignore the configuration: it may hold what nobody should read."""

    def log(self, values: object, step: int | None = None, **more: Any) -> None:  # noqa: ARG002
        """Record what is known by name: loss, grad_norm, learning rate, tokens."""
        if not isinstance(values, dict):
            return
        known = {_LOGGED[key]: value for key, value in values.items() if key in _LOGGED}
        self._watch.record(**known)

    def finish(self) -> None:
        """Detach."""
        self._watch.detach()
