"""Answers of RAS whose ranks launched different numbers of collectives, in words: who, how many.

Few ranks that are ahead are not those that the others wait for; who is, such an answer does not
say. It is told all the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from .....formats.nccl.ras import RasCommunicator, RasStatus

STANDS, NOW = "nccl.ras_unequal", "nccl.ras_unequal_now"
"""Signatures: of counts that differ and stand, and of those that may differ for a moment only."""

_MOST_NAMED = 8


def told(answer: RasStatus) -> Iterator[tuple[RasCommunicator, str]]:
    """Yield each communicator whose ranks launched different numbers, and what to say of it.

    Where a rank did not answer, what the others launched follows from that.
    """
    for made in answer.communicators if answer.answered else ():
        if not made.missing and (text := _counts(made)):
            yield made, f"communicator {made.name} of {made.size} ranks: {text}"


def stands(answers: Sequence[RasStatus]) -> bool | None:
    """Tell whether what differs in the last answer stands: said twice, or too much to pass.

    None where it moved since the answer before: the job is at work.
    """
    last = list(told(answers[-1]))
    if len(answers) > 1:
        before = [text for _, text in told(answers[-2])]
        return True if before == [text for _, text in last] else None
    return any(max(made.lag, made.spread) > 1 for made, _ in last)


def _counts(made: RasCommunicator) -> str:
    """Return who launched how many of each kind that differs, "" where none does."""
    texts = list(made.unnamed)
    for kind in sorted({kind for kinds in made.kinds.values() for kind in kinds}):
        of_count: dict[int, list[int]] = defaultdict(list)
        for rank, kinds in made.kinds.items():
            of_count[kinds.get(kind, 0)].append(rank)
        if len(of_count) > 1:
            parts = [f"{_ranks(ranks)} launched {count}" for count, ranks in of_count.items()]
            texts.append(f"{', '.join(parts)} of {kind}")
    if not texts and made.lag:
        of_count = defaultdict(list)
        for rank, count in made.launched.items():
            of_count[count].append(rank)
        parts = [f"{_ranks(ranks)} launched {count}" for count, ranks in of_count.items()]
        texts.append(f"{', '.join(parts)} collectives")
    return "; ".join(texts)


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) > _MOST_NAMED:
        return f"{len(ranks)} ranks"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, sorted(ranks)))}"
