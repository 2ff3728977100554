"""Which metric a tag is, by the table in tags.toml."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated

from ...vocabulary import tables
from ..training_logs.line_formats import Value, value_of


def _value(spec: str) -> Value:
    return value_of("value", spec)


@dataclass(frozen=True, slots=True)
class Tag:
    """Tags that match a pattern whole, and the metric that they are."""

    pattern: re.Pattern[str]
    value: Annotated[Value, tables.Written(str, _value)]


@cache
def _rows() -> list[Tag]:
    return tables.packaged(Tag, __package__ or "", "tags.toml", "tag")


@lru_cache(4096)
def metric(tag: str) -> Value | None:
    """Return the metric of a tag, None where it is none of ours."""
    text = tag.lower()
    return next((row.value for row in _rows() if row.pattern.fullmatch(text)), None)


def counts_samples(tag: str) -> bool:
    """Tell whether a tag's step counts samples: DeepSpeed's monitor writes such."""
    return tag.lower().startswith("train/samples/")
