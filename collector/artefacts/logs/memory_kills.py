"""Processes that a launcher or a shell saw killed, and that a kernel says it killed for memory.

Such a line often has no time and no host; the number of the process is what both logs name. In a
container it has another number: then it is the lone process that the kernel killed, or the last
one of Python.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..hosts.kernel_logs import KernelFault
from ..job.span import JobSpan
from ..launches.record import FiledReport

_KILLED = -9
_TRAINING = re.compile(
    r"(?:\(|task=)(?:python|pt_main_thread|pt_data_worker|torchrun|accelerate|deepspeed|ray::|train)"
)
"""What a kernel calls the processes of a training: the first 15 bytes of their names."""
_APART_SECONDS = 600.0
"""By so much the times of a kernel, which counts since its boot, may differ from a launcher's."""


def explained(
    reports: Sequence[FiledReport], faults: Iterable[KernelFault], span: JobSpan | None
) -> list[FiledReport]:
    """Return the reports; those of such processes are kills for memory, with host and time.

    span: when the job ran, None where nothing says so; kills outside of it are not the job's.
    """
    kills = [one for one in faults if one.event.name == "host.oom_kill" and _inside(one, span)]
    killed = {_pid(one): one for one in kills}
    ended = {number: one for number, one in enumerate(reports) if _killed(one)}
    found = {
        number: killed[one.report.pid]
        for number, one in ended.items()
        if one.report.pid is not None and one.report.pid in killed
    }
    if ended and not found:
        first = min(ended, key=lambda number: ended[number].order)
        if (kill := _alone([*killed.values()], ended[first])) is not None:
            found[first] = kill
    return [
        _for_memory(one, found[number]) if number in found else one
        for number, one in enumerate(reports)
    ]


def _killed(one: FiledReport) -> bool:
    return one.report.form.kind in ("exit", "verdict") and one.report.code == _KILLED


def _alone(kills: Sequence[KernelFault], ended: FiledReport) -> KernelFault | None:
    """Return the kill of a process that has another number in the job's own log."""
    near = [one for one in kills if not _apart(one, ended)]
    if len(near) == 1:
        return near[0]
    trained = [one for one in near if _TRAINING.search(str(one.event.attributes.get("text", "")))]
    return trained[-1] if trained else None


def _apart(kill: KernelFault, ended: FiledReport) -> bool:
    at = ended.report.at if ended.report.dated else None
    return None not in (at, kill.at) and abs((at or 0.0) - (kill.at or 0.0)) > _APART_SECONDS


def _for_memory(one: FiledReport, kill: KernelFault) -> FiledReport:
    report = one.report
    form = replace(report.form, kind="oom")
    host, at = kill.host or report.host, kill.at or report.at
    return replace(one, report=replace(report, form=form, host=host, at=at))


def _pid(kill: KernelFault) -> object:
    return kill.event.attributes.get("pid")


def _inside(kill: KernelFault, span: JobSpan | None) -> bool:
    at = kill.latest if kill.at is None else kill.at
    return span is None or at is None or not span.apart(at)
