"""One case as files: what its hosts send, in the order in which it arrives, and its truth."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import otlp_lines
from . import (
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
from .activity import RankActivity
from .effects import EventRecord, SeriesEdit
from .exporters import HostExporter
from .plans import CasePlan
from .series import MetricSeries
from .situation import CaseSituation
from .training import JobAttempt
from .wire import HostResource, Resources

_SAMPLED_WORLD = 32
"""Ranks at most of jobs that report single collectives."""


def make(plan: CasePlan, folder: Path) -> None:
    """Write `case.jsonl.gz` and `truth.json` of a case to its folder."""
    case = situation.situated(plan)
    mechanisms.add(case)
    tried = training.attempts(case)
    phases.add(case, tried)
    folder.mkdir(parents=True, exist_ok=True)
    otlp_lines.write(folder / "case.jsonl.gz", _lines(case, tried))
    text = json.dumps(truth(case), indent=1, sort_keys=True)
    (folder / "truth.json").write_text(text + "\n", encoding="utf-8")


def truth(case: CaseSituation) -> dict[str, object]:
    plan = case.plan
    return {
        **case.truth.document(),
        "id": plan.id,
        "seed": plan.seed,
        "strength": plan.strength if plan.fault else None,
        "world": plan.world,
        "minutes": plan.minutes,
        "begin": case.begin,
        "job": case.layout.job,
        "step_seconds": case.pace.step,
        "habits": plan.habits,
        "reporter": plan.reporter.name,
    }


def all_series(
    case: CaseSituation, tried: tuple[JobAttempt, ...], hosts: list[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield every series that the reporters have, edits applied, gaps not."""
    reporter = case.plan.reporter
    exact: dict[str, list[SeriesEdit]] = {}
    for edit in case.edits:
        exact.setdefault(edit.metric, []).append(edit)
    wild = [edit for edit in case.edits if edit.metric.endswith("*")]
    for made in _made(case, tried, hosts):
        alone = reporter.ranks == "first" and made.metric.startswith("training.")
        if made.metric.startswith(reporter.lacks) or (
            alone and made.attributes.get("rank") and made.metric != "training.rank.info"
        ):
            continue
        name = case.layout.hosts[made.host].name
        edits = [edit for edit in wild if made.metric.startswith(edit.metric[:-1])]
        edits = [*exact.get(made.metric, []), *edits]
        if made.added:
            edits = [edit for edit in edits if not _instead(made, edit)]
        one = series.changed(made, name, edits)
        if len(one.times):
            yield one


def _instead(added: MetricSeries, edit: SeriesEdit) -> bool:
    """Return whether an edit drops what a series of the fault is there instead of: from then on."""
    return edit.how == "drop" and len(added.times) > 0 and edit.begin <= added.times[0]


def _made(
    case: CaseSituation, tried: tuple[JobAttempt, ...], hosts: list[HostExporter]
) -> Iterator[MetricSeries]:
    samples = case.plan.world <= _SAMPLED_WORLD
    for attempt in tried:
        yield from step_series.reported(case, attempt, hosts)
        yield from collective_series.reported(case, attempt, hosts, samples=samples)
        yield from process_series.reported(case, attempt, hosts)
    loads = RankActivity(case, tried)
    yield from device_series.reported(case, loads, hosts)
    yield from host_series.reported(case, loads, hosts)
    names = [host.name for host in case.layout.hosts]
    for extra in case.extras:
        times = np.arange(extra.begin, min(extra.end, case.end), 5.0)
        values, host = np.full(len(times), extra.value), names.index(extra.host)
        yield MetricSeries(
            extra.metric, host, "device", extra.attributes, times, values, added=True
        )


def _lines(case: CaseSituation, tried: tuple[JobAttempt, ...]) -> Iterator[str]:
    rng = case.plan.rng("sending")
    hosts = exporters.exporters(case)
    push = float(rng.choice([1.0, 5.0, 5.0, 10.0])) if case.plan.world <= _SAMPLED_WORLD else 10.0
    sent = [
        part
        for one in all_series(case, tried, hosts)
        for part in exporters.as_sent(case, hosts[one.host], one, rng)
    ]
    slots = [hosts[part.host].pushed(part.times, push) for part in sent]
    resources = {
        (index, attempt): HostResource(host.name, host.switch, case.layout.job, attempt)
        for index, host in enumerate(case.layout.hosts)
        for attempt in (None, 0, 1)
    }
    rows = [*wire.metric_lines(resources, sent, slots), *_events(case, hosts, resources)]
    again = case.habit("duplicates")
    if again:
        rows += [(at + push, line) for at, line in rows if rng.random() < again]
    rows.sort(key=lambda row: row[0])
    return (line for _, line in rows)


def _events(
    case: CaseSituation, hosts: list[HostExporter], resources: Resources
) -> Iterator[tuple[float, str]]:
    """Yield (time, line) of the events of hosts that still live and whose agents run."""
    if "training.phase".startswith(case.plan.reporter.lacks):
        return
    names = [host.name for host in case.layout.hosts]
    lost = {edit.host: edit.begin for edit in case.edits if edit.metric == "*"}
    events = case.events + [
        EventRecord("agent.lifecycle", name, at, {"phase": phase}, of_job=False)
        for name, exporter in zip(names, hosts, strict=True)
        for at, phase in zip(exporter.restart or (), ("shutdown", "start"), strict=False)
    ]
    for event in events:
        index = names.index(event.host)
        down, own = hosts[index].restart, event.name == "agent.lifecycle"
        asleep = down is not None and down[0] <= event.at < down[1] and not own
        if asleep or event.at > min(case.end, lost.get(event.host, case.end)):
            continue
        second = case.restart is not None and event.at >= case.restart.at + 1.0
        at = float(hosts[index].clock(np.array([event.at]))[0])
        resource = resources[index, int(second) if event.of_job else None]
        yield event.at + 0.2, wire.log_line(resource, replace(event, at=at))
