"""Values of lines that name no rank, in logs that do not: whose they are taken for.

One process of a job prints for all, which one only the framework says: rank 0 or the last. Where
the last is not known, the highest rank that anything names stands for it; values of a whole job
accuse nobody, so what is said of the job stays right.
"""

from dataclasses import replace
from functools import lru_cache

from ....vocabulary.samples import Event, Sample, Scalar, attributes

_SCOPED = frozenset({"training.loss", "training.grad_norm"})


def sample(one: Sample, rank: int) -> Sample:
    """Return a sample of nobody as one that a rank printed for the job."""
    pairs = _pairs(one.attributes, rank, scoped=one.metric in _SCOPED)
    return Sample(one.metric, one.value, one.at, pairs)


@lru_cache(maxsize=1024)
def _pairs(
    pairs: tuple[tuple[str, Scalar], ...], rank: int, *, scoped: bool
) -> tuple[tuple[str, Scalar], ...]:
    scope = {"scope": "global"} if scoped else {}
    return attributes({**dict(pairs), "rank": rank, **scope})


def event(one: Event, rank: int) -> Event:
    """Return an event about a value of nobody as one about the job's."""
    if one.name != "training.numeric":
        return one
    return replace(one, attributes={**one.attributes, "rank": rank, "what": "grad_reduced"})
