"""Ends of nobody whom launchers name: they are the cause where nothing else points at one."""

from collections.abc import Iterable

from ....vocabulary.samples import Event, Scalar
from .exits import ASKED, SIGKILL
from .known import KnownRanks
from .record import FiledReport, LaunchRecord
from .verdicts import LaunchVerdict


def add(
    record: LaunchRecord,
    ends: Iterable[FiledReport],
    known: KnownRanks,
    verdict: LaunchVerdict,
    *,
    newest: float,
) -> None:
    """Add the first of these that is known: a lone SIGKILL, an end of nobody, a pending start.

    Where a launcher ends what it had started, and nobody says why, that is all that is known.
    """
    _add_listed(known, verdict, newest)
    said = [
        one for one in ends
        if one.report.form.kind == "exit" and one.report.code not in (0, *ASKED)
    ]  # fmt: skip
    if said and not known.listed:
        _add_ended(said[0], known, verdict, ended="process")
    came = {one.report.form.name for one in record.reports}
    waits = [one for one in record.of_kind("pending") if came.isdisjoint(one.report.form.until)]
    if waits and not known.stepped:
        _add_ended(waits[-1], known, verdict, ended="start")
    told = record.of_kind("asked")
    if told:
        _add(told[0], known, verdict, role="cascade")


def _add_ended(one: FiledReport, known: KnownRanks, verdict: LaunchVerdict, *, ended: str) -> None:
    """Take a line that says the end of a process or a start for the cause."""
    _add(one, known, verdict, role="root", ended=ended)


def _add(
    one: FiledReport, known: KnownRanks, verdict: LaunchVerdict, *, role: str, **pairs: Scalar
) -> None:
    """Take a line for what is known of the cause, where nothing else is."""
    if verdict.events or known.faulted:
        return
    host, name = verdict.places.host(one), one.report.form.name
    verdict.blame(one, "log.fault", host, None, signature=name, role=role, **pairs)


def _add_listed(known: KnownRanks, verdict: LaunchVerdict, newest: float) -> None:
    """Take a lone SIGKILL in torchrun's table for the cause: torchrun itself lived on."""
    listed = known.listed
    killed = [rank for rank, (_, signal) in listed.items() if signal == SIGKILL]
    others = [one for rank, one in listed.items() if rank not in killed]
    if len(killed) != 1 or known.roots or known.cut:
        return
    if any(-signal not in ASKED or at < listed[killed[0]][0] for at, signal in others):
        return  # torchrun itself kills what does not heed SIGTERM
    text = f"rank {killed[0]} was ended by SIGKILL while its launcher lived on"
    pairs: dict[str, Scalar] = {
        "signature": "torchrun.worker_failed", "role": "root", "rank": killed[0], "text": text,
    }  # fmt: skip
    event = Event("log.fault", newest, pairs)
    verdict.events.append((killed[0], verdict.places.host_of(killed[0]), event))
