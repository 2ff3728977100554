"""Processes that a shell saw killed, and that a kernel says it killed for memory.

A shell's line has no time and no host; the number of the process is what both logs name. In a
container it has another number: a lone kill of the kernel is then that of the lone end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..hosts.kernel_logs import KernelFault
from ..job.span import JobSpan
from ..launches.record import FiledReport

_KILLED = -9


def explained(
    reports: Sequence[FiledReport], faults: Iterable[KernelFault], span: JobSpan | None
) -> list[FiledReport]:
    """Return the reports; those of such processes are kills for memory, with host and time.

    span: when the job ran, None where nothing says so; kills outside of it are not the job's.
    """
    kills = [one for one in faults if one.event.name == "host.oom_kill" and _inside(one, span)]
    killed = {_pid(one): one for one in kills}
    ended = [one for one in reports if _shells(one)]
    found = list(reports)
    for number, one in enumerate(reports):
        if not _shells(one):
            continue
        kill = killed.get(one.report.pid) if one.report.pid is not None else None
        if kill is None and len(ended) == len(killed) == 1:
            kill = kills[0]
        if kill is not None:
            form = replace(one.report.form, kind="oom")
            at = kill.at or one.report.at
            found[number] = replace(
                one, report=replace(one.report, form=form, host=kill.host, at=at)
            )
    return found


def _shells(one: FiledReport) -> bool:
    report = one.report
    return report.form.name == "shell.process_ended" and report.code == _KILLED


def _pid(kill: KernelFault) -> object:
    return kill.event.attributes.get("pid")


def _inside(kill: KernelFault, span: JobSpan | None) -> bool:
    at = kill.latest if kill.at is None else kill.at
    return span is None or at is None or not span.apart(at)
