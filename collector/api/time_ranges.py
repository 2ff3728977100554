"""Time ranges as silences and maintenance windows give them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .pages import PageQuery
from .parameters import Moment
from .problems import ProblemError

Line = Annotated[str, Field(max_length=1000)]
Pattern = Annotated[str, Field(min_length=1, max_length=200)]
"""A shell pattern (`*`, `?`, `[..]`)."""


class MutesQuery(PageQuery):
    """Which silences or maintenance windows."""

    state: Literal["pending", "active", "expired"] | None = None


class MuteTimes(BaseModel):
    """From `starts_at` (now when left out) up to `ends_at`."""

    model_config = ConfigDict(extra="forbid")

    starts_at: Moment | None = None
    ends_at: Moment

    def checked(self, now: float) -> tuple[float, float]:
        """Return start and end. Raises ProblemError 422 for a range that is over or empty."""
        starts_at = now if self.starts_at is None else self.starts_at
        if self.ends_at <= max(starts_at, now):
            raise ProblemError(
                422,
                "ends_at: it must be later than starts_at and than now",
                errors=[{"pointer": "#/ends_at", "detail": "too early"}],
            )
        return starts_at, self.ends_at
