"""Hosts from which CPU time is withheld for long, whether or not steps show what it costs."""

from collections.abc import Iterable

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import JobWindow

LASTING_SECONDS = 60.0
"""A checkpoint, a compilation or a cron job takes CPU time for less."""

HARDLY = 0.2
"""Share of what is found that may have been usual: a quota that always stopped is not news."""

WAITS = "process.cpu.wait"
"""The job's own processes could run and did not; pressure is that of any task of the host."""

TAKEN_BY = ("host.cpu_steal", "host.cpu_busy")
"""Who may have the CPU time for which the processes wait. By themselves they withhold none."""


def for_long(window: JobWindow, detector: str, found: Iterable[Finding]) -> list[Finding]:
    """Return the hosts from which the findings say that CPU time has been withheld for a minute.

    A quota that stops containers proves it alone: the kernel counts the time for which it held
    them. That processes wait while they could run says it where a second sign says who has the
    CPUs. On more than half of the job's hosts it is how the job is set up, and no host's trouble.
    It is information: most jobs have CPU time to spare, and what it costs them is for steps to say.
    """
    by_host: dict[str, dict[str, Finding]] = {}
    for finding in found:
        by_host.setdefault(finding.entity.id, {})[finding.kind] = finding
    findings: list[Finding] = []
    for signs in by_host.values():
        proof = _proof(signs)
        if not proof:
            continue
        began = max((sign.onset for sign in proof), key=lambda onset: onset[1])
        lasted = min(sign.window[1] for sign in proof) - began[1]
        if lasted < LASTING_SECONDS:
            continue
        first = proof[0]
        findings.append(
            report(
                window,
                detector,
                "host.cpu_withheld",
                first.entity,
                onset=began,
                magnitude=first.magnitude,
                score=INFORMATION,
                signal=first.signal,
                observed=first.observed,
                expected=first.expected,
                text=f"{first.text}, for {lasted:.0f} s now",
            )
        )
    return findings if 2 * len(findings) <= len(window.hosts) else []


def _proof(signs: dict[str, Finding]) -> list[Finding]:
    """Return the findings of one host that prove together that CPU time is withheld."""
    quota, waits = signs.get("host.cpu_throttled"), signs.get("host.cpu_wait")
    if quota is not None and _hardly_usual(quota):
        return [quota]
    taken = [signs[kind] for kind in TAKEN_BY if kind in signs]
    if waits is not None and waits.signal == WAITS and taken:
        return [waits, taken[0]]
    return []


def _hardly_usual(found: Finding) -> bool:
    usual = found.expected if isinstance(found.expected, float) else 0.0
    return usual <= HARDLY * found.magnitude
