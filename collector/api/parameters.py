"""Parameters that several resources share: times, page sizes, cursors."""

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ...vocabulary import faults, times

_LAST = 253402300800.0  # the year 10000: RFC 3339 ends there
_EXAMPLES = ["2025-01-31T12:00:00Z", "1738324800"]


def moment(value: Any) -> float:
    """Return seconds since the epoch from RFC 3339 or epoch seconds. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        # A TypeError would leave pydantic as it is, and be a defect instead of an answer.
        raise ValueError("write RFC 3339 or epoch seconds")  # noqa: TRY004
    at = times.parse(str(value))
    if not math.isfinite(at) or not 0 <= at < _LAST:
        raise ValueError("write a time between 1970 and 9999")
    return at


Moment = Annotated[
    float,
    BeforeValidator(moment),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "format": "date-time"},
                {"type": "number", "minimum": 0, "maximum": _LAST - 1},
            ],
            "description": "RFC 3339 or epoch seconds",
            "examples": _EXAMPLES,
        }
    ),
]
"""A time as people send it, seconds since the epoch inside."""

Number = Annotated[
    str, Field(pattern=r"^[0-9]{1,18}$", description="next_cursor of the answer before")
]
"""A cursor that is a number."""

Limit = Annotated[int, Field(ge=1, le=1000, description="Most items of one answer")]
Cursor = Annotated[str, Field(max_length=200, description="next_cursor of the answer before")]


JobPattern = Annotated[
    str, Field(min_length=1, max_length=200, description="A shell pattern (* ? [..])")
]


def _fault(text: str) -> str:
    if text not in faults.catalogue():
        raise ValueError(f"there is no fault {text!r}")
    return text


FaultId = Annotated[str, AfterValidator(_fault), WithJsonSchema({"enum": list(faults.catalogue())})]


class QueryParameters(BaseModel):
    """Parameters of a query; one that is not known is an error, so that a typo is not ignored."""

    model_config = ConfigDict(extra="forbid")
