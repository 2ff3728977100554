"""One sentence that says what broke, where, and what people notice."""

from collections.abc import Sequence

from ..vocabulary import faults
from ..vocabulary.incidents import RootCause, Symptom


def sentence(cause: RootCause, symptoms: Sequence[Symptom]) -> str:
    """Return the summary of an incident: cause and place first, then the first symptom."""
    first = cause.hypotheses[0]
    noticed = symptoms[0].text if symptoms else "something is wrong"
    if first.fault == faults.UNKNOWN:
        return f"Cause unknown: {noticed}"
    title = faults.catalogue()[first.fault].title
    ranks = first.entity.ranks
    where = str(first.entity)
    if first.entity.type not in ("rank", "job") and 0 < len(ranks) <= 8:
        word = "rank" if len(ranks) == 1 else "ranks"
        where += f" ({word} {', '.join(str(rank) for rank in ranks)})"
    return f"{title}: {where}; {noticed}"
