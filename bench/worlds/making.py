"""One case as files: what its hosts send, in the order in which it arrives, and its truth."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import (
    activity,
    collective_series,
    device_series,
    exporters,
    host_series,
    mechanisms,
    phases,
    process_series,
    series,
    situation,
    step_series,
    training,
    wire,
)
from .effects import ExtraSeries, SeriesEdit
from .exporters import HostExporter
from .plans import CasePlan
from .series import MetricSeries
from .situation import CaseSituation
from .training import JobAttempt
from .wire import HostResource


def make(plan: CasePlan, folder: Path) -> None:
    """Write `case.jsonl.gz` and `truth.json` of a case to its folder."""
    case = situation.situated(plan)
    mechanisms.add(case)
    tried = training.attempts(case)
    phases.add(case, tried)
    folder.mkdir(parents=True, exist_ok=True)
    wire.write(folder / "case.jsonl.gz", _lines(case, tried))
    text = json.dumps(truth(case), indent=1, sort_keys=True)
    (folder / "truth.json").write_text(text + "\n", encoding="utf-8")


def truth(case: CaseSituation) -> dict[str, object]:
    """Return what truth.json says."""
    plan = case.plan
    return case.truth.document() | {
        "id": plan.id,
        "seed": plan.seed,
        "strength": plan.strength if plan.fault else None,
        "world": plan.world,
        "minutes": plan.minutes,
        "begin": case.begin,
        "job": case.layout.job,
        "gpu_of": {one.gpu: [one.rank, case.layout.host_of(one.rank)] for one in case.layout.ranks},
        "pid_of": {str(one.pid): one.rank for one in case.layout.ranks},
        "step_seconds": case.pace.step,
        "habits": plan.habits,
        "reporter": plan.reporter.name,
    }


def all_series(
    case: CaseSituation, tried: tuple[JobAttempt, ...], hosts: list[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield every series that the reporters have, edits applied, gaps not."""
    loads = activity.RankActivity(case, tried)
    lacks = case.plan.reporter.lacks
    edits = _by_metric(case)
    samples = not any("collective.op.duration".startswith(one) for one in lacks)
    for made in _made(case, tried, hosts, loads, samples=samples):
        if made.metric.startswith(lacks):
            continue
        rank = made.attributes.get("rank", 0)
        alone = case.plan.reporter.ranks == "first" and made.metric.startswith("training.")
        if alone and rank and made.metric != "training.rank.info":
            continue
        name = case.layout.hosts[made.host].name
        wild = [edit for prefix, edit in edits["*"] if made.metric.startswith(prefix)]
        one = series.changed(made, name, [*(row for _, row in edits.get(made.metric, [])), *wild])
        if len(one.times):
            yield one


def _made(
    case: CaseSituation,
    tried: tuple[JobAttempt, ...],
    hosts: list[HostExporter],
    loads: activity.RankActivity,
    *,
    samples: bool,
) -> Iterator[MetricSeries]:
    for attempt in tried:
        yield from step_series.reported(case, attempt, hosts)
        yield from collective_series.reported(case, attempt, hosts)
        if samples and case.plan.world <= 32:
            yield from collective_series.sampled(attempt)
        yield from process_series.reported(case, attempt, hosts)
    yield from device_series.reported(case, loads, hosts)
    yield from host_series.reported(case, loads, hosts)
    names = {host.name: index for index, host in enumerate(case.layout.hosts)}
    for extra in case.extras:
        yield _extra(case, extra, names[extra.host])


def _extra(case: CaseSituation, extra: ExtraSeries, host: int) -> MetricSeries:
    times = np.arange(extra.begin, min(extra.end, case.end), 5.0)
    values = np.full(len(times), extra.value)
    return MetricSeries(extra.metric, host, "device", extra.attributes, times, values)


def _by_metric(case: CaseSituation) -> dict[str, list[tuple[str, SeriesEdit]]]:
    found: dict[str, list[tuple[str, SeriesEdit]]] = {"*": []}
    for edit in case.edits:
        key = "*" if edit.metric.endswith("*") else edit.metric
        found.setdefault(key, []).append((edit.metric.rstrip("*"), edit))
    return found


def _lines(case: CaseSituation, tried: tuple[JobAttempt, ...]) -> Iterator[str]:
    rng = case.plan.rng("sending")
    hosts = exporters.exporters(case)
    push = float(rng.choice([1.0, 5.0, 5.0, 10.0])) if case.plan.world <= 32 else 10.0
    sent, slots = [], []
    for one in all_series(case, tried, hosts):
        exporter = hosts[one.host]
        for part in exporters.as_sent(case, exporter, one, rng):
            sent.append(part)
            slots.append(_slots(part, exporter, push))
    pushes = wire.metric_lines(_resources(case), sent, slots)
    rows = [(one.at, one.line) for one in pushes]
    rows += _events(case, hosts)
    again = case.habit("duplicates")
    if again:
        rows += [(at + push, line) for at, line in rows if rng.random() < again]
    rows.sort(key=lambda row: row[0])
    return (line for _, line in rows)


def _slots(part: MetricSeries, exporter: HostExporter, push: float) -> np.ndarray:
    """Return when each point is pushed: with the next push, later where a queue holds it back."""
    pushed = np.ceil((part.times + 0.05) / push) * push
    if exporter.late:
        begin, end, seconds = exporter.late
        held = (part.times >= begin) & (part.times < end)
        pushed = pushed + np.where(held, np.ceil(seconds), 0.0)
    return pushed


def _resources(case: CaseSituation) -> dict[tuple[int, int | None], HostResource]:
    found: dict[tuple[int, int | None], HostResource] = {}
    for index, host in enumerate(case.layout.hosts):
        found[index, None] = HostResource(host.name, host.switch, None, None)
        for attempt in (0, 1):
            found[index, attempt] = HostResource(host.name, host.switch, case.layout.job, attempt)
    return found


def _events(case: CaseSituation, hosts: list[HostExporter]) -> list[tuple[float, str]]:
    lacks = case.plan.reporter.lacks
    if any("training.phase".startswith(one) for one in lacks):
        return []
    names = {host.name: index for index, host in enumerate(case.layout.hosts)}
    ends = {edit.host: edit.begin for edit in case.edits if edit.metric == "*"}
    found = []
    for event in case.events:
        index = names[event.host]
        host, exporter = case.layout.hosts[index], hosts[index]
        down = exporter.restart
        if event.at > case.end or (down and down[0] <= event.at < down[1]):
            continue
        attempt = int(bool(case.restart and event.at >= case.restart.at + 1.0))
        job = case.layout.job if event.of_job else None
        resource = HostResource(host.name, host.switch, job, attempt if job else None)
        at = float(exporter.clock(np.array([event.at]))[0])
        found.append((event.at + 0.2, wire.log_line(resource, at, event.name, event.attributes)))
    for host, exporter in zip(case.layout.hosts, hosts, strict=True):
        for at, phase in zip(exporter.restart or (), ("shutdown", "start"), strict=False):
            if at >= ends.get(host.name, case.end):
                break
            resource = HostResource(host.name, host.switch, None, None)
            line = wire.log_line(resource, at, "agent.lifecycle", {"phase": phase})
            found.append((at, line))
    return found
