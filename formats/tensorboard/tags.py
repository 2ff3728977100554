"""Which metric a tag is, by the table in tags.toml."""

import re
import tomllib
from functools import cache, lru_cache
from importlib import resources

from ..training_logs.line_formats import Value, value_of


@cache
def _rows() -> tuple[tuple[re.Pattern[str], Value], ...]:
    text = resources.files(__package__ or "").joinpath("tags.toml").read_text(encoding="utf-8")
    return tuple(
        (re.compile(row["pattern"]), value_of(row["pattern"], row["value"]))
        for row in tomllib.loads(text)["tag"]
    )


@lru_cache(4096)
def metric(tag: str) -> Value | None:
    """Return the metric of a tag, None where it is none of ours."""
    text = tag.lower()
    return next((value for pattern, value in _rows() if pattern.fullmatch(text)), None)


def counts_samples(tag: str) -> bool:
    """Tell whether a tag's step counts samples: DeepSpeed's monitor writes such."""
    return tag.lower().startswith("train/samples/")
