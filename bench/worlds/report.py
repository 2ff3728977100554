"""The score of a world as text and as a document: figures, faults worst first, what was false."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from .scoring import NamedCause, WorldScore


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
    false = [(case.id, one) for case in score.cases for one in case.false]
    kinds = Counter((one.fault, one.severity) for _, one in false)
    lines += ["", "false incidents by kind: fault, severity, incidents, cases"]
    for kind, count in kinds.most_common():
        cases = {case for case, one in false if (one.fault, one.severity) == kind}
        lines.append(f"  {kind[0]:30} {kind[1]:8} {count:3} {len(cases):3}")
    lines += ["", "false incidents: case, severity, fault, entity, probability | summary"]
    for case_id, cause in false:
        shown = "-" if cause.probability is None else f"{cause.probability:.2f}"
        where = f"{cause.fault:26} {cause.type} {cause.id} {shown}"
        lines.append(f"  {case_id:28} {cause.severity:8} {where} | {cause.summary}")
    return "\n".join(lines)


def _rows(named: tuple[NamedCause, ...]) -> list[dict[str, Any]]:
    return [asdict(one) | {"ranks": sorted(one.ranks)} for one in named]
