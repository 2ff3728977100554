"""An incident document as a report for a person: what, where, how sure, and why.

Plain text without colours, so that it looks the same in a terminal, a log and a ticket.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..vocabulary.chances import chance
from ..vocabulary.faults import UNKNOWN
from . import profiles, terminal

Document = Mapping[str, Any]

WIDTH = 100
_CALLS = 6
"""Of a stack, the innermost: the outer ones are the same everywhere."""
_BASES = {
    "phases": "by what each rank does in a step",
    "durations": "by how long steps took before",
}
_RELATIONS = {"supports": "+", "contradicts": "-", "missing": "?"}


def incident_report(document: Document) -> str:
    """Return the report of an incident document, without a newline.

    Its texts are made plain first: none of them can command a terminal or break out of its line.
    """
    document = terminal.plain_document(document)
    cause = document["root_cause"]
    parts = [
        _head(document),
        _causes(cause),
        _evidence(cause["hypotheses"][0]) if cause["hypotheses"] else [],
        _section("Actions", _actions(cause["hypotheses"])),
        _section("Next checks", [_check(row) for row in cause["next_checks"]]),
        _section("Impact", [_impact(document["impact"]), *_without(document["impact"])]),
        _section("How the answer developed", map(_change, document.get("cause_history") or ())),
        _section(
            "Stacks, innermost call first", [_stack(row) for row in document.get("stacks") or ()]
        ),
        _profiles(document.get("profiles") or ()),
        _section("Symptoms", [_symptom(row) for row in document["symptoms"]]),
        _section(
            "Timeline", [f"{_clock(row['at'])}  {row['text']}" for row in document["timeline"]]
        ),
        _section("Data", _quality(cause["data_quality"])),
    ]
    return "\n".join(line for part in parts for line in part).rstrip()


def similar_report(rows: Sequence[Document]) -> str:
    """Return past incidents like one, with what people said of them, without a newline."""
    return "\n".join(_section("Similar past incidents", map(_alike, rows))).rstrip()


def _alike(row: Document) -> str:
    row = terminal.plain_document(row)
    said = [
        f"{one['by']}: the cause was {one['verdict']}" + (f", {one['note']}" if one["note"] else "")
        for one in row["feedback"]
    ]
    if row["resolved"] and row["resolved"]["note"]:
        said.append(f"{row['resolved']['by']} resolved it: {row['resolved']['note']}")
    what = f"{row['id'][:12]}  {row['opened_at'][:10]}  {row['fault'] or 'unknown'}"
    reasons = ", ".join(row["reasons"])
    return f"{what} ({reasons}); {'; '.join(said) or 'nobody said whether the cause was right'}"


def range_report(answer: Document) -> str:
    """Return the report of what happened to a job in a time range, without a newline."""
    answer = terminal.plain_document(answer)
    if answer["incident"] is not None:
        others = [f"{row['id'][:12]}  {row['summary']}" for row in answer["others"]]
        more = "\n".join(_section("Other incidents in this time range", others)).rstrip()
        return incident_report(answer["incident"]) + (f"\n\n{more}" if more else "")
    if not answer["hypotheses"]:
        time_range = answer["range"]
        reasons = "; ".join(answer["unknown"]["reasons"])
        return f"{time_range['from']} to {time_range['to']}: {reasons}"
    parts = [
        _causes(answer),
        _evidence(answer["hypotheses"][0]),
        _section("Actions", _actions(answer["hypotheses"])),
        _section("Next checks", [_check(row) for row in answer["next_checks"]]),
        _section("Data", _quality(answer["data_quality"])),
    ]
    return "\n".join(line for part in parts for line in part).rstrip()


def _head(document: Document) -> list[str]:
    job = document["job"] or "no single job"
    attempt = f", attempt {document['attempt']}" if document["attempt"] else ""
    title = f"INCIDENT {document['id'][:12]}  {document['severity']}, {document['status']}"
    times = f"since {document['opened_at']}, detected {document['detected_at']}"
    if document["resolved_at"]:
        times += f", resolved {document['resolved_at']}"
    rule = "=" * WIDTH
    return [rule, f"{title}  (job {job}{attempt})", *_wrap(document["summary"]), times, rule, ""]


def _causes(cause: Document) -> list[str]:
    lines = [f"Causes ({cause['status']})"]
    for row in cause["hypotheses"]:
        sure = f"{_sure(row)}score {row['score']:+.1f}"
        if row["probability"] is not None and row["fault"] != UNKNOWN:
            sure += f", probability {chance(row['probability'])}"
        row_text = f"{row['rank']}. {row['fault']:<28} {_where(row['entity']):<32}  {sure}"
        lines += _wrap(row_text, "  ", "     ")
    unknown = cause["unknown"]
    reasons = "; ".join(unknown["reasons"])
    lines += _wrap(f"-  unknown, score {unknown['score']:+.1f}: {reasons}", "  ", "     ")
    return [*lines, ""]


def _evidence(first: Document) -> list[str]:
    """Return the evidence of the first cause: what supports it, contradicts it, and is missing."""
    rows = sorted(
        first["evidence"],
        key=lambda row: (list(_RELATIONS).index(row["relation"]), -abs(row["weight"])),
    )
    lines = [f"Evidence for 1. {first['fault']}"]
    for row in rows:
        weight = f"{row['weight']:+.2f}" if row["weight"] else ""
        numbers = _numbers(row)
        head = f"  {_RELATIONS[row['relation']]} {weight:>6}  "
        text = f"{row['text']} [{row['signal']}{numbers}]" if row["signal"] else row["text"]
        if row["relation"] == "missing":
            text = f"not observed: {text}"
        lines += _wrap(text, head, " " * len(head))
    if not any(row["relation"] == "contradicts" for row in rows):
        lines.append("  No evidence contradicts it.")
    return [*lines, ""]


def _numbers(row: Document) -> str:
    observed, expected = row["observed"], row["expected"]
    if observed is None:
        return ""
    return f": {_shown(observed)}" + ("" if expected is None else f", expected {_shown(expected)}")


def _actions(hypotheses: Sequence[Document]) -> list[str]:
    if not hypotheses:
        return []
    first = hypotheses[0]
    lines = [
        _commanded(f"{row['when']}: {row['text']}", row["command"]) for row in first["actions"]
    ]
    return [*lines, *([f"runbook: {first['runbook']}"] if first["runbook"] else [])]


def _check(row: Document) -> str:
    separates = f" (separates {' from '.join(row['separates'])})" if row["separates"] else ""
    return _commanded(row["text"] + separates, row["command"])


def _commanded(text: str, command: str) -> str:
    return f"{text}\n$ {command}" if command else text


def _impact(row: Document) -> str:
    slow = "training is stopped" if row["slowdown"] is None else f"{row['slowdown']:.2f} x slower"
    if row["slowdown"] == 1:
        slow = "steps at their usual pace"
    ranks = _count(row["ranks"], "rank")
    hosts = _count(row["nodes"], "host")
    reach = ""
    if (at_cause := row.get("ranks_at_cause")) and row.get("jobs"):
        held = row["ranks"] - at_cause
        reach = f"; {_count(at_cause, 'rank')} at the cause, {held} held up, in "
        reach += _count(row["jobs"], "job")
    lost = f"{row['gpu_seconds_lost']:.0f} GPU-seconds lost so far"
    return f"{ranks} on {hosts}, {slow}, {lost}{reach}"


def _without(row: Document) -> list[str]:
    """Return what steps would take without the cause; nothing where nobody can tell."""
    # Documents of before this key, in the store or in a file, have none.
    found = row.get("counterfactual")
    if not found:
        return []
    without, basis = found["without"], _BASES[found["basis"]]
    step = f"{_shown(found['step_seconds'])} s"
    instead = f"without this cause {_shown(without['step_seconds'])} s"
    interval = f"{_shown(without['low'])} - {_shown(without['high'])} s"
    more = _shown(found["gpu_hours_an_hour"])
    # As above.
    lost = found.get("lost")
    between = f" (90 % interval {_shown(lost['low'])} - {_shown(lost['high'])})" if lost else ""
    return [
        f"steps take {step}; {instead} (90 % interval {interval}), {basis}",
        f"{_shown(found['gpu_hours_lost'])} GPU-hours lost by that{between}, {more} more an hour",
    ]


def _change(row: Document) -> str:
    answer = f"{row['fault']}, {_where(row['entity'])}, {_sure(row)}".removesuffix(", ")
    return f"{_clock(row['at'])}  {row['status']}: {answer}: {row['why']}"


def _sure(row: Document) -> str:
    """Return how sure a cause is, with a comma: nothing for unknown, which is no claim."""
    return "" if row["fault"] == UNKNOWN else f"{row['confidence']} confidence, "


def _symptom(row: Document) -> str:
    # Documents of before this key, in the store or in a file, have none.
    standing_out = row.get("ranks") or []
    where = f" (ranks that stand out: {ranks(standing_out)})" if standing_out else ""
    return f"{_clock(row['onset'])}  {row['kind']}: {row['text']}{where}"


def _stack(row: Document) -> str:
    """Return ranks that stand at one place, and the innermost calls there."""
    who = f"{_count(row['count'], 'rank')} ({ranks(row['ranks'])})"
    odd = ", elsewhere than most" if row["odd"] else ""
    calls = row["text"].splitlines()[-_CALLS:]
    return "\n".join([f"{who}{odd}:", *(f"  {call}" for call in reversed(calls))])


def _profiles(rows: Sequence[Document]) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines += [f"  {line}" for line in profiles.comparison(row)]
        lines += [f"  trace: {path}" for path in row["traces"]]
    return ["Profile against a healthy peer", *lines, ""] if lines else []


def _quality(row: Document) -> list[str]:
    lines = []
    if row["coverage"] is not None:
        lines.append(
            f"coverage: {row['coverage']:.0%} of the signals that the causes predict are reported"
        )
    if row["missing"]:
        lines.append(f"not reported: {', '.join(row['missing'])}")
    if row["clock_skew_seconds"]:
        lines.append(f"host clocks differ by up to {row['clock_skew_seconds'] * 1000:.0f} ms")
    return lines


def _where(entity: Document) -> str:
    name = f"{entity['type']} {entity['id']}"
    if entity["host"] and entity["type"] not in ("host", "nic", "process"):
        name += f" on {entity['host']}"
    elif entity["ranks"] and entity["type"] == "host":
        name += f" (ranks {ranks(entity['ranks'])})"
    return name


def ranks(listed: Sequence[int | str], *, most: int = 8) -> str:
    """Return ranks as a document lists them, numbers and ranges "0-1016:8", in at most 8 parts."""
    return ", ".join(map(str, listed[:most])) + (", ..." if len(listed) > most else "")


def _shown(value: float | str) -> str:
    """Return a value in four digits; whole numbers, which may be counters, in all of theirs."""
    if isinstance(value, str):
        return value
    whole = float(value).is_integer() and abs(value) < 1e12
    return f"{value:.0f}" if whole else f"{value:.4g}"


def _clock(at: str) -> str:
    """Return the time of day of an RFC 3339 time, to the second and in its own zone."""
    return at.partition("T")[2][:8]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _section(title: str, items: Iterable[str]) -> list[str]:
    """Return a titled list, or nothing when there is nothing in it."""
    lines: list[str] = []
    for item in items:
        first, *rest = item.split("\n")
        lines += _wrap(first, "  ", "    ")
        lines += [f"    {line}" for line in rest]  # a command is never broken
    return [title, *lines, ""] if lines else []


def _wrap(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
