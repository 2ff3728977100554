"""Replicas whose weights are not the same, by digests that their ranks send after a step."""

from collections import Counter
from collections.abc import Iterable

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import JobWindow
from . import step_batches

_MOST_NAMED, _MOST_RANKS = 3, 8


def differ(
    window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]
) -> list[Finding]:
    """Return that replicas differ, since which step, in which layers, and which ranks do."""
    by_step: dict[tuple[int, str], dict[int, tuple[float, str]]] = {}
    for event, step, row in said:
        digests, replicas = event.attributes.get("weights"), event.attributes.get("replicas")
        if isinstance(digests, str) and isinstance(replicas, str) and digests and replicas:
            by_step.setdefault((step, replicas), {})[row] = (event.at, digests)
    said = list(said)
    alike = -1
    for (step, _), rows in sorted(by_step.items()):
        if len({digests for _, digests in rows.values()}) > 1:
            return _findings(window, detector, step, rows, alike)
        if len(rows) > 1:
            alike = step
    return _parted(window, detector, said)


def _parted(
    window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]
) -> list[Finding]:
    """Return that ranks which began with the very same weights have others, as information.

    Nothing says that they are replicas: some ways to train reduce weights now and then only.
    """
    by_step: dict[tuple[int, str], dict[int, tuple[float, str]]] = {}
    for event, step, row in said:
        began, digests = (
            step_batches.text(event, "weights_first"),
            event.attributes.get("weights"),
        )
        if began and isinstance(digests, str) and digests:
            by_step.setdefault((step, began), {})[row] = (event.at, digests)
    newest: dict[str, bool] = {}
    first: dict[str, tuple[int, dict[int, tuple[float, str]]]] = {}
    for (step, began), rows in sorted(by_step.items()):
        if len(rows) > 1:
            newest[began] = len({digests for _, digests in rows.values()}) > 1
            if newest[began]:
                first.setdefault(began, (step, rows))
    for began, (step, rows) in first.items():
        if newest[began]:
            where, _ = _where({row: _layers(digests) for row, (_, digests) in rows.items()})
            ranks = ", ".join(map(str, sorted(window.ranks[list(rows)].tolist())[:_MOST_RANKS]))
            at = max(moment for moment, _ in rows.values())
            return [
                report(
                    window,
                    detector,
                    "job.weights_parted",
                    window.entity,
                    onset=at,
                    score=INFORMATION,
                    signal=step_batches.BATCH,
                    text=f"ranks {ranks} began with the very same weights, and after step {step} "
                    f"they are not the same in {where}: their gradients are not reduced alike",
                )
            ]
    return []


def _findings(
    window: JobWindow, detector: str, step: int, rows: dict[int, tuple[float, str]], alike: int
) -> list[Finding]:
    """alike: the last step before it at which replicas had the same weights, -1 without one."""
    at = max(moment for moment, _ in rows.values())
    where, parts = _where({row: _layers(digests) for row, (_, digests) in rows.items()})
    counts = Counter(digests for _, digests in rows.values())
    (most, count), *others = counts.most_common()
    tied = bool(others) and others[0][1] == count
    odd = sorted(row for row, (_, digests) in rows.items() if tied or digests != most)
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


def _where(layers: dict[int, dict[str, str]]) -> tuple[str, int]:
    """Return the groups of layers in which replicas differ, in words, and how many these are."""
    names = next(iter(layers.values()))
    parts = [name for name in names if len({layer.get(name) for layer in layers.values()}) > 1]
    more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    named = ", ".join(parts[:_MOST_NAMED]) + more
    return f"{named} ({len(parts)} of {len(names)} groups of layers)", len(parts)


def _layers(digests: str) -> dict[str, str]:
    """Return the digest of each group of layers."""
    found = (part.partition("=") for part in digests.split())
    return {name: digest for name, _, digest in found}
