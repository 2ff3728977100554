"""The probe as a callback of the Lightning Trainer.

    trainer = Trainer(..., callbacks=[RankscopeCallback()])

Derives from Lightning's Callback where the job has imported it (`lightning.pytorch` or
`pytorch_lightning`), and from nothing otherwise. Tested here with a small stand-in that calls
the same methods in the same order.
"""

import sys
from typing import Any

from .attaching import attach

_library: Any = sys.modules.get("lightning.pytorch") or sys.modules.get("pytorch_lightning")
_Base: Any = getattr(_library, "Callback", object)


class RankscopeCallback(_Base):  # type: ignore[misc]  # the base is known only where it is installed
    """Attaches when training starts. Steps are the optimizer's own updates.

    Lightning has no hook around one update that also sees accumulated batches, so the probe's
    hooks inside torch count the steps. Keyword arguments are those of `rankscope.probe.attach`.
    """

    def __init__(self, **attaching: Any) -> None:
        self._attaching = attaching
        self._watch: Any = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach, with the module and the first of the trainer's optimizers."""
        optimizers = getattr(trainer, "optimizers", None) or [None]
        said: dict[str, Any] = {"framework": "lightning"}
        said |= {"model": pl_module, "optimizer": optimizers[0]}
        self._watch = attach(**said | self._attaching)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Say that this rank evaluates; the check before training counts too."""
        if self._watch is not None:
            self._watch.phase("eval")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Say that it trains again."""
        if self._watch is not None:
            self._watch.phase("train")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leave it to the probe's own hook: an exception the loop survives is no crash."""

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Detach."""
        if self._watch is not None:
            self._watch.detach()
            self._watch = None
