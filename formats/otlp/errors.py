"""The one error of the OTLP and remote-write decoders: a body that is not as declared.

What is well formed but cannot be kept (a histogram, a point without a time) is no error: it is
counted in the batch and answered as partial success.
"""

from collections.abc import Generator
from contextlib import contextmanager


class UndecodableError(ValueError):
    """A body that cannot be decoded; `what` says why and `where` at which place of it."""

    def __init__(self, what: str, where: str = "") -> None:
        self.what = what
        self.where = where
        super().__init__(f"{where}: {what}" if where else what)

    def inside(self, outer: str) -> "UndecodableError":
        """Return the same error with its place inside a larger part."""
        dot = "." if self.where and not self.where.startswith("[") else ""
        return UndecodableError(self.what, f"{outer}{dot}{self.where}")


@contextmanager
def within(place: str) -> Generator[None]:
    """Let errors raised here say that they happened inside `place`."""
    try:
        yield
    except UndecodableError as error:
        raise error.inside(place) from None


class OversizedError(UndecodableError):
    """A body that would be larger than allowed once decompressed; nothing of it was."""
