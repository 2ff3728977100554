"""The detectors: a page each, from its docstring, parameters and kinds of findings; their list."""

import inspect
import re

from rankscope.detectors import catalogue
from rankscope.detectors.contract import Detector
from rankscope.vocabulary import findings

from .tables import NOTE, code, table

_PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")


def index() -> str:
    """Return the list of all detectors by family."""
    by_family: dict[str, list[tuple[str, str, str]]] = {}
    for detector in catalogue.detectors():
        kinds = ", ".join(code(kind) for kind in detector.kinds)
        row = (f"[{detector.name}](detectors/{detector.name}.md)", _sentence(detector), kinds)
        by_family.setdefault(_family(detector), []).append(row)
    head = (
        f"{NOTE}# Detectors\n\n"
        "Each turns the window of one job into findings. `detectors.disabled`, "
        "`detectors.parameters` and `detectors.rules` of the [settings](settings.md) change which "
        "run, for which jobs, with which parameters; `rankscope replay --against` shows what a "
        "change would have done to recorded jobs.\n"
    )
    columns = ("detector", "what it reports", "findings")
    return head + "".join(
        f"\n## {family.capitalize()}\n\n{table(columns, rows)}"
        for family, rows in by_family.items()
    )


def pages() -> dict[str, str]:
    """Return a page for each detector, by file name below docs/reference."""
    return {f"detectors/{one.name}.md": _page(one) for one in catalogue.detectors()}


def _page(detector: Detector) -> str:
    method, parameters, example, limits = _sections(inspect.getdoc(type(detector)) or "")
    cadence = (
        f"at most every {detector.cadence_seconds:g} s"
        if detector.cadence_seconds
        else "in every second in which something of the job was received"
    )
    title = f"{NOTE}# Detector {detector.name}\n\n{method}\n"
    family = f"Family: {_family(detector)}. Evaluated {cadence}.\n"
    columns = ("finding", "symptom", "needs one of", "meaning")
    parts = [title, family, "## Findings\n\n" + table(columns, _kinds(detector))]
    if parameters:
        rows = [
            (code(name), code(f"{vars(detector)[name]!r}"), meaning)
            for name, meaning in parameters
            if name in vars(detector)
        ]
        parts.append("## Parameters\n\n" + table(("parameter", "default", "meaning"), rows))
    parts.append(f"## Example\n\n{example}\n")
    parts.append(f"## Limits and source\n\n{limits}\n")
    return "\n".join(parts)


def _sections(text: str) -> tuple[str, list[tuple[str, str]], str, str]:
    """Return method, parameters, example and the rest of a detector's docstring."""
    method, _, rest = text.partition("\nParameters\n----------\n")
    if not rest:
        method, _, rest = text.partition("\nExamples\n--------\n")
        parameters: list[tuple[str, str]] = []
    else:
        listed, _, rest = rest.partition("\nExamples\n--------\n")
        parameters = _parameters(listed)
    lines = rest.splitlines()
    last = max((n for n, line in enumerate(lines) if line.startswith(">>>")), default=-1)
    end = next((n for n in range(last + 1, len(lines)) if not lines[n].strip()), len(lines))
    first = next((n for n, line in enumerate(lines) if line.startswith(">>>")), end)
    words, shown = "\n".join(lines[:first]).strip(), "\n".join(lines[first:end])
    example = f"{words}\n\n```python\n{shown}\n```" if shown else words
    return method.strip(), parameters, example.strip(), "\n".join(lines[end:]).strip()


def _parameters(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    names: list[str] = []
    meaning = ""
    for line in [*text.splitlines(), "end : "]:
        start = _PARAMETER.match(line)
        if start is None:
            meaning = f"{meaning} {line.strip()}".strip()
            continue
        found += [(name, meaning) for name in names]
        names, meaning = start[1].split(", "), start[2].strip()
    return found


def _kinds(detector: Detector) -> list[tuple[str, str, str, str]]:
    known = findings.catalogue()
    return [
        (
            code(kind),
            "" if not known[kind].symptom else f"yes, {known[kind].effect}",
            ", ".join(code(signal) for signal in known[kind].signals),
            known[kind].help,
        )
        for kind in detector.kinds
    ]


def _family(detector: Detector) -> str:
    return type(detector).__module__.split(".")[-2]


def _sentence(detector: Detector) -> str:
    first = (inspect.getdoc(type(detector)) or "").partition("\n\n")[0].replace("\n", " ")
    return first.strip()
