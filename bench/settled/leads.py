"""By how many nats the first cause of an incident leads. Pure."""

from rankscope.vocabulary.incidents import Hypothesis, RootCause


def rival(cause: RootCause) -> Hypothesis | None:
    """Return the best hypothesis that is another answer: another fault, or at another place."""
    first, *others = cause.hypotheses
    return next((row for row in others if another(row, first)), None)


def another(row: Hypothesis, first: Hypothesis) -> bool:
    """Return whether a hypothesis is another answer than the first one."""
    same = (row.entity.type, row.entity.id) == (first.entity.type, first.entity.id)
    near = same or bool(row.entity.ranks.members & first.entity.ranks.members)
    return row.fault != first.fault or not near


def lead(cause: RootCause) -> float:
    """Return the lead of the first cause over the next answer or unknown, in nats."""
    if not cause.hypotheses:
        return 0.0
    first, other = cause.hypotheses[0], rival(cause)
    scores = [] if other is None else [other.score]
    if first.fault != "unknown":
        scores.append(cause.unknown.score)
    return first.score - max(scores, default=first.score)
