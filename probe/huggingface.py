"""The probe as a callback of the transformers Trainer.

    trainer = Trainer(..., callbacks=[RankscopeCallback()])

Derives from transformers.TrainerCallback where the job has imported it, and from nothing
otherwise. Tested here with a small stand-in that calls the same methods in the same order.
"""

import sys
from typing import Any

from .attaching import attach

_transformers: Any = sys.modules.get("transformers")
_Base: Any = getattr(_transformers, "TrainerCallback", object)


class RankscopeCallback(_Base):  # type: ignore[misc]  # the base is known only where it is installed
    """Attaches when training begins; one step is one optimizer update, numbered by the Trainer.

    Keyword arguments are those of `rankscope.probe.attach`.
    """

    def __init__(self, **attaching: Any) -> None:
        self._attaching = attaching
        self._watch: Any = None
        self._span: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Attach, with the model and optimizer that the Trainer made."""
        said: dict[str, Any] = {"framework": "transformers"}
        said |= {name: known.get(name) for name in ("model", "optimizer")}
        self._watch = attach(**said | self._attaching)

    def on_step_begin(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Begin a step; micro-batches of one accumulated step do not come by here."""
        if self._watch is not None:
            self._span = self._watch.step(getattr(state, "global_step", None))
            self._span.__enter__()

    def on_step_end(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """End the step."""
        if self._span is not None:
            self._span.__exit__(None, None, None)
            self._span = None

    def on_evaluate(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Say that evaluation is over: the Trainer calls this after it."""
        if self._watch is not None:
            self._watch.phase("train")

    def on_prediction_step(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Say that this rank evaluates; saying it again costs a comparison."""
        if self._watch is not None:
            self._watch.phase("eval")

    def on_log(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,  # noqa: ARG002
        logs: Any = None,
        **known: Any,  # noqa: ARG002
    ) -> None:
        """Record the gradient norm the Trainer logs; its loss is a mean over steps and ranks."""
        if self._watch is not None and isinstance(logs, dict):
            self._watch.record(grad_norm=logs.get("grad_norm"), scope="global")

    def on_train_end(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Detach."""
        if self._watch is not None:
            self._watch.detach()
            self._watch = None
