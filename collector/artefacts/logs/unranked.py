"""Values of lines that name no rank, in logs that do not: whose they are taken for.

One process of a job prints for all, which one only the framework says: rank 0 or the last. Where
the last is not known, the highest rank that anything names stands for it; values of a whole job
accuse nobody, so what is said of the job stays right.
"""

from dataclasses import replace

from ....vocabulary.samples import Event, Sample, attributes

_SCOPED = frozenset({"training.loss", "training.grad_norm"})


def sample(one: Sample, rank: int) -> Sample:
    """Return a sample of nobody as one that a rank printed for the job."""
    pairs = dict(one.attributes) | {"rank": rank}
    if one.metric in _SCOPED:
        pairs["scope"] = "global"
    return replace(one, attributes=attributes(pairs))


def event(one: Event, rank: int) -> Event:
    """Return an event about a value of nobody as one about the job's."""
    if one.name != "training.numeric":
        return one
    return replace(one, attributes={**one.attributes, "rank": rank, "what": "grad_reduced"})
