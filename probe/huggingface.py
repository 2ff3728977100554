"""The probe as a callback of the transformers Trainer.

    trainer = Trainer(..., callbacks=[RankscopeCallback()])

`RankscopeCallback` derives from transformers.TrainerCallback. It is made when it is first asked
for, so this module can be imported before transformers or without it; asking for the class imports
transformers. Without the library the class can still be made: it prints why it does nothing.
"""

from typing import Any

from .callbacks import CallbackHooks, guarded, lazily

__all__ = ["RankscopeCallback"]


class _TrainerHooks(CallbackHooks):
    """Attaches when training begins; one step is one optimizer update, numbered by the Trainer.

    Sends phase `eval` and `checkpoint` around the Trainer's evaluations and saves. Keyword
    arguments are those of `rankscope.probe.attach`. No method raises.
    """

    def __init__(self, **attaching: Any) -> None:
        super().__init__(**attaching)
        self._step: Any = None

    @guarded
    def on_train_begin(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Attach, with the model and optimizer that the Trainer made."""
        self._attach(
            framework="transformers", model=known.get("model"), optimizer=known.get("optimizer")
        )
        # The Trainer divides the loss of each micro-batch, so that they add up to the step's.
        self._watch.losses_add_up = True

    @guarded
    def on_step_begin(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Begin a step; the Trainer calls this once for all micro-batches of an update."""
        self._saved()
        if self._watch is not None:
            self._watch.phase("train")
            self._step = self._watch.step(getattr(state, "global_step", None))
            self._step.__enter__()

    @guarded
    def on_step_end(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """End the step; the Trainer evaluates and saves next, if anybody asked it to."""
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)
        self._next(control)

    @guarded
    def on_epoch_end(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Begin the evaluation or save at the end of an epoch."""
        self._next(control)

    @guarded
    def on_prediction_step(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Send that this rank evaluates: covers evaluations that the loop starts itself."""
        if self._watch is not None:
            self._watch.phase("eval")

    @guarded
    def on_evaluate(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Send that evaluation is over: the Trainer calls this after it."""
        if self._watch is not None:
            self._watch.phase("train")
            if getattr(control, "should_save", False) is True:
                self._save()

    @guarded
    def on_predict(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Send that prediction is over."""
        if self._watch is not None:
            self._watch.phase("train")

    @guarded
    def on_save(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Send that the checkpoint is written: the Trainer calls this after it."""
        self._saved()

    @guarded
    def on_log(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,  # noqa: ARG002
        logs: Any = None,
        **known: Any,  # noqa: ARG002
    ) -> None:
        """Record the gradient norm the Trainer logs; its loss is a mean over steps and ranks.

        It comes after the step's end and goes with the next step, unless that has one of its own.
        """
        if self._watch is not None and isinstance(logs, dict):
            self._watch.record(grad_norm=logs.get("grad_norm"), scope="global")

    @guarded
    def on_train_end(self, args: Any, state: Any, control: Any, **known: Any) -> None:  # noqa: ARG002
        """Detach."""
        self._saved()
        self._detach()

    def _next(self, control: Any) -> None:
        # The Trainer's own callbacks run before this one and have set what it does next.
        if self._watch is None:
            return
        if getattr(control, "should_evaluate", False) is True:
            self._watch.phase("eval")
        elif getattr(control, "should_save", False) is True:
            self._save()


RankscopeCallback: type[Any]
"""The callback; keyword arguments are those of `rankscope.probe.attach`."""

__getattr__ = lazily(
    globals(), "RankscopeCallback", _TrainerHooks, [("transformers", "TrainerCallback")]
)
