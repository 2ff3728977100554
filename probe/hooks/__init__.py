"""The probe's hooks in torch, installed once the job has imported it: one hook a file.

A hook is a module with `install(context)`, which raises UnsupportedLibraryError when torch is not
what it was written for; then that hook is left out and the others are not. It works through public
hooks where torch has them, and replaces a function only where it has not, giving the reason.

Rules for each: called inside the job, so nothing may escape (`context.failed` counts instead);
a wrapper passes through while torch compiles (`context.inactive()`), during a nested call, and
once the probe is detached; nothing is ever attached to a module object, since modules get pickled,
copied and scripted.

In: torch, once the job has imported it. Out: times and values of the step in progress. Imports:
budgets, devices, gradient_sketch, importing, patches, phases, step_record, timeline, weights.
"""

from collections.abc import Callable

from . import (
    backward,
    batches,
    calls,
    checkpoints,
    clipping,
    engines,
    layers,
    optimizers,
    replicas,
    scaling,
    shards,
)
from .context import HookContext

HOOKS: tuple[Callable[[HookContext], None], ...] = (
    batches.install,
    replicas.install,
    shards.install,
    scaling.install,
    backward.install,
    layers.install,
    clipping.install,
    calls.install,
    checkpoints.install,
    optimizers.install,
    engines.install,
)
"""In the order in which a step meets them."""

__all__ = ["HOOKS", "HookContext"]
