"""What the probe hangs into torch once the job has imported it: one hook a file.

A hook is a module with `install(seat)`, which raises BowOutError when torch is not what it was
written for; then that hook stays away and the others do not mind. It works through public hooks
where torch has them, and replaces a function only where it has not, saying why.

Rules for each: called inside the job, so nothing may escape (`seat.failed` counts instead);
a wrapper passes through while torch compiles (`seat.away()`), during a nested call, and once the
probe is detached; nothing is ever attached to a module object, since modules get pickled, copied
and scripted.
"""

from collections.abc import Callable

from . import backward, batches, calls, checkpoints, clipping, optimizers, replicas, scaling
from .seat import Seat

HOOKS: tuple[Callable[[Seat], None], ...] = (
    batches.install,
    replicas.install,
    scaling.install,
    backward.install,
    clipping.install,
    calls.install,
    checkpoints.install,
    optimizers.install,
)
"""In the order in which a step meets them."""

__all__ = ["HOOKS", "Seat"]
