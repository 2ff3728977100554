"""Replicas whose weights are not the same, by digests that their ranks send after a step."""

from collections import Counter
from collections.abc import Iterable

from ...vocabulary.findings import Finding
from ..findings import report
from ..window import JobWindow
from . import parted, step_batches, weight_digests


def differ(
    window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]
) -> list[Finding]:
    """Return that replicas differ, since which step, in which layers, and which ranks do."""
    by_step: dict[tuple[int, str], dict[int, tuple[float, str]]] = {}
    for event, step, row in said:
        held, replicas = event.attributes.get("weights"), event.attributes.get("replicas")
        if isinstance(held, str) and isinstance(replicas, str) and held and replicas:
            by_step.setdefault((step, replicas), {})[row] = (event.at, held)
    said = list(said)
    alike = -1
    for (step, _), rows in sorted(by_step.items()):
        if len({held for _, held in rows.values()}) > 1:
            return _findings(window, detector, step, rows, alike)
        if len(rows) > 1:
            alike = step
    return parted.found(window, detector, said)


def _findings(
    window: JobWindow, detector: str, step: int, rows: dict[int, tuple[float, str]], alike: int
) -> list[Finding]:
    """alike: the last step before it at which replicas had the same weights, -1 without one."""
    at = max(moment for moment, _ in rows.values())
    where, parts = weight_digests.where(held for _, held in rows.values())
    counts = Counter(held for _, held in rows.values())
    (most, count), *others = counts.most_common()
    tied = bool(others) and others[0][1] == count
    odd = sorted(row for row, (_, held) in rows.items() if tied or held != most)
    whose = "it cannot be said whose are right" if tied else "the others agree"
    ranks = [int(window.ranks[row]) for row in odd]
    symptom = report(
        window,
        detector,
        "job.weights_differ",
        window.entity,
        onset=at,
        magnitude=float(parts),
        signal=step_batches.BATCH,
        observed=float(len(counts)),
        expected=1.0,
        text=f"after step {step} the weights of replicas are not the same in {where}"
        + (f"; after step {alike} they were" if alike >= 0 else ""),
        ranks=ranks if not tied else (),
    )
    return [
        symptom,
        *(
            report(
                window,
                detector,
                "rank.weights_differ",
                window.rank_entity(row),
                onset=at,
                magnitude=float(parts),
                score=1.0 if tied else 3.0,
                signal=step_batches.BATCH,
                observed=float(parts),
                expected=0.0,
                text=f"after step {step} the weights of rank {int(window.ranks[row])} in {where} "
                f"are not those of its peers; {whose}",
            )
            for row in odd
        ),
    ]
