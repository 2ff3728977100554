"""The watch that does nothing: RANKSCOPE_PROBE=0, or a process in which the probe cannot live."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

T = TypeVar("T")

_NOTHING: AbstractContextManager[None] = nullcontext()


class SilentWatch:
    """Takes every call of a Watch and does nothing; loaders come back as they are."""

    failures = 0
    losses_add_up = False
    losses_divided_by: Callable[[], int] | None = None

    def step(self, index: int | None = None) -> AbstractContextManager[None]:  # noqa: ARG002
        """Return a context manager that does nothing."""
        return _NOTHING

    def data(self, loader: Iterable[T]) -> Iterable[T]:
        return loader

    def dataset(self, dataset: T, locate: object = None) -> T:  # noqa: ARG002
        return dataset

    def checkpoint(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing."""
        return _NOTHING

    def evaluation(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing."""
        return _NOTHING

    def collective(
        self,
        op: str,  # noqa: ARG002
        group: str | None = None,  # noqa: ARG002
        size_bytes: int | None = None,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Return a context manager that does nothing."""
        return _NOTHING

    def record(
        self,
        *,
        loss: object = None,
        grad_norm: object = None,
        learning_rate: object = None,
        tokens: object = None,
        loss_scale: object = None,
        scope: str | None = None,
    ) -> None:
        """Ignore the values."""

    def end_step(self, index: int | None = None) -> None:
        """Do nothing."""

    def phase(self, name: str) -> None:
        """Do nothing."""

    def continue_from(self, index: int) -> None:
        """Do nothing."""

    def detach(self) -> None:
        """Do nothing."""
