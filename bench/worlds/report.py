"""The score of a world as text and as a document: figures, faults worst first, what was false."""

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any

from .scoring import CaseScore, NamedCause, WorldScore


def document(score: WorldScore) -> dict[str, Any]:
    """Return everything as JSON has it."""
    cases = [
        asdict(one) | {"about": _rows(one.about), "false": _rows(one.false)} for one in score.cases
    ]
    return {"figures": score.figures(), "cases": cases}


def text(score: WorldScore) -> str:
    """Return figures, a row a fault, the false ones by kind and one by one."""
    lines = [f"{len(score.cases)} cases"]
    for name, value in score.figures().items():
        lines.append(f"  {name:34} {'-' if value is None else f'{value:.3f}'}")
    lines += [
        "",
        "faults, worst first: id, strength, found, cause, entity, named, incidents above info",
    ]
    faulty = [one for one in score.cases if one.fault]
    for one in sorted(faulty, key=lambda row: (row.found + row.right + row.right_entity, row.id)):
        marks = " ".join(
            "yes" if mark else "NO " for mark in (one.found, one.right, one.right_entity)
        )
        lines.append(
            f"  {one.id:36} {one.strength or '':6} {marks} {one.named or '-':28}"
            f" {one.above_info} {one.reporter}"
        )
    kinds: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case in score.cases:
        for false in case.false:
            kinds[false.fault, false.severity] += 1
            where[false.fault, false.severity].add(case.id)
    lines += ["", "false incidents by kind: fault, severity, incidents, cases"]
    for (fault, severity), count in kinds.most_common():
        lines.append(f"  {fault:30} {severity:8} {count:3} {len(where[fault, severity]):3}")
    lines += ["", "false incidents"]
    for case in score.cases:
        lines += [_false_line(case, one) for one in case.false]
    return "\n".join(lines)


def _false_line(case: CaseScore, one: NamedCause) -> str:
    shown = "-" if one.probability is None else f"{one.probability:.2f}"
    where = f"{one.type} {one.id}"
    return f"  {case.id:28} {one.severity:8} {one.fault:26} {where} {shown} | {one.summary}"


def _rows(named: tuple[NamedCause, ...]) -> list[dict[str, Any]]:
    return [asdict(one) | {"ranks": sorted(one.ranks)} for one in named]
