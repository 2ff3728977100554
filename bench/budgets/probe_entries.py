"""What the probe's callbacks cost a training thread: a clock around each, in a run of its own.

Each place where a job enters the probe is timed as a whole: a function that the probe replaced,
less the original that it calls; a hook of a tensor, of an optimizer, of the autograd engine.
Nothing inside them is touched, so the figure is theirs plus two readings of the clock each
(`clock`, given beside it). What torch itself spends on calling a hook is not in it: that is in the
difference between a job with and without the probe.
"""

import importlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rankscope.probe.patches import Function, LibraryPatches


class EntryCosts:
    """Seconds of the thread's CPU and calls, by the name of what was entered."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    def clear(self) -> None:
        """Begin anew."""
        self.seconds.clear()
        self.calls.clear()

    def outer(self, name: str, function: Function) -> Function:
        """Return the function, its time counted."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = self._clock()
            try:
                return function(*args, **kwargs)
            finally:
                spent = self._clock() - began
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
                self.calls[name] = self.calls.get(name, 0) + 1

        return timed

    def inner(self, name: str, original: Function) -> Function:
        """Return an original that the probe's function calls, its time taken off again."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = self._clock()
            try:
                return original(*args, **kwargs)
            finally:
                spent = self._clock() - began
                self.seconds[name] = self.seconds.get(name, 0.0) - spent

        return timed

    def clock_seconds(self) -> float:
        """Return what one call of an entry that does nothing is counted as."""
        calls = 10_000
        empty = self.outer("", _nothing)
        for _ in range(calls):
            empty()
        self.calls.pop("")
        return self.seconds.pop("") / calls


@contextmanager
def counted(torch: Any) -> Generator[EntryCosts]:
    entries = EntryCosts()
    optimizer: Any = importlib.import_module(torch.optim.Optimizer.__module__)
    variable: Any = torch.autograd.Variable
    engine = variable._execution_engine  # noqa: SLF001  it has no public name
    tensor_hook, replace = torch.Tensor.register_hook, LibraryPatches.replace
    before = optimizer.register_optimizer_step_pre_hook
    after = optimizer.register_optimizer_step_post_hook

    def replaced(
        self: LibraryPatches, owner: Any, name: str, make: Callable[[Function], Function]
    ) -> None:
        def both(original: Function) -> Function:
            return entries.outer(name, make(entries.inner(name, original)))

        replace(self, owner, name, both)

    class Engine:
        """The engine, as torch and the hooks use it."""

        run_backward = staticmethod(engine.run_backward)

        @staticmethod
        def queue_callback(callback: Function) -> None:
            engine.queue_callback(entries.outer("engine callback", callback))

    LibraryPatches.replace = replaced  # type: ignore[method-assign]
    variable._execution_engine = Engine  # noqa: SLF001
    torch.Tensor.register_hook = lambda self, hook: tensor_hook(
        self, entries.outer("tensor hook", hook)
    )
    optimizer.register_optimizer_step_pre_hook = lambda hook: before(
        entries.outer("optimizer begins", hook)
    )
    optimizer.register_optimizer_step_post_hook = lambda hook: after(
        entries.outer("optimizer ends", hook)
    )
    try:
        yield entries
    finally:
        LibraryPatches.replace = replace  # type: ignore[method-assign]
        variable._execution_engine = engine  # noqa: SLF001
        torch.Tensor.register_hook = tensor_hook
        optimizer.register_optimizer_step_pre_hook = before
        optimizer.register_optimizer_step_post_hook = after


def _nothing() -> None:
    """Do nothing."""
