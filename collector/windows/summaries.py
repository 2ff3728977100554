"""What people and programs ask of the windows: jobs, ranks, series, topology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.ids import Job
from .attempt import Attempt
from .steps import StepGrid

if TYPE_CHECKING:
    from .windows import Windows

RECENT_STEPS = 20


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One job, its newest attempt. `step_seconds` is the recent median, None before two steps."""

    job: Job
    attempt: int
    cluster: str | None
    first_at: float
    last_at: float
    world_size: int
    hosts: tuple[str, ...]
    ranks: int
    last_step: int | None
    step_seconds: float | None


@dataclass(frozen=True, slots=True)
class RankSummary:
    """One rank of a job's newest attempt."""

    rank: int
    local_rank: int | None
    host: str | None
    pid: int | None
    hw_id: str | None
    last_step: int | None
    progress_age: float | None
    attempt: int


class Summaries:
    """The questions of the API; mixed into Windows, which holds the answers."""

    def jobs(self: Windows) -> list[JobSummary]:  # type: ignore[misc]
        """Return every job that is remembered, by id."""
        return [_summary(attempt, self.host_names) for attempt in self.current()]

    def hosts(self: Windows) -> list[str]:  # type: ignore[misc]
        """Return every host that ever spoke, sorted."""
        return sorted(host for host in self.host_names if host)

    def attempt_of(self: Windows, job: str) -> Attempt | None:  # type: ignore[misc]
        """Return the newest attempt of a job, None when it is not known."""
        return self.attempt(job)

    def ranks(self: Windows, job: str) -> list[RankSummary]:  # type: ignore[misc]
        """Return the ranks of a job's newest attempt, by number; empty for an unknown job."""
        attempt = self.attempt_of(job)
        if attempt is None:
            return []
        window = self.window(attempt, attempt.last_received)
        age, _ = window.of_ranks("training.progress.age").latest()
        found = []
        for row, rank in enumerate(attempt.placements.ranks):
            place = attempt.placements.placement(row, self.host_names)
            last = int(attempt.grid.last_index[row])
            found.append(
                RankSummary(
                    rank=rank,
                    local_rank=place.local_rank,
                    host=place.host or None,
                    pid=place.pid,
                    hw_id=place.hw_id,
                    last_step=None if last < 0 else last,
                    progress_age=float(age[row]) if np.isfinite(age[row]) else None,
                    attempt=attempt.number,
                )
            )
        return sorted(found, key=lambda summary: summary.rank)

    def series(  # type: ignore[misc]
        self: Windows,  # pyright: ignore[reportGeneralTypeIssues]
        job: str,
        metric: str,
        ranks: list[int] | None,
        start: float,
        end: float,
    ) -> list[tuple[int | None, list[tuple[float, float]]]]:
        """Return [(rank, [(at, value)])] of a metric in [start, end], oldest first.

        Metrics of a host come once for each of its ranks' hosts, with rank None; a name may carry
        its variant (`training.loss|local`, `hw.frequency|sm`).
        """
        attempt = self.attempt_of(job)
        if attempt is None:
            return []
        window = self.window(attempt, attempt.last_received)
        steps = window.steps
        found: list[tuple[int | None, list[tuple[float, float]]]] = []
        planes = dict(steps.planes)
        if metric == StepGrid.STEP:  # the ruler itself is no plane
            planes = {metric: np.broadcast_to(steps.index.astype(np.float64), steps.at.shape)}
        names = [name for name in planes if name == metric or name.startswith(f"{metric}|")]
        for name in sorted(names):
            for row, rank in enumerate(attempt.placements.ranks):
                if ranks is None or rank in ranks:
                    points = _points(steps.at[row], planes[name][row], start, end)
                    if points:
                        found.append((rank, points))
        if names:
            return sorted(found, key=lambda row: row[0] or 0)
        for table, by_rank in ((window.rank_readings, True), (window.host_readings, False)):
            known = [n for n in sorted(table) if n == metric or n.startswith(f"{metric}|")]
            for name in known:
                readings = table[name]
                for row in range(len(readings.at)):
                    member = attempt.placements.ranks[row] if by_rank else None
                    if by_rank and ranks is not None and member not in ranks:
                        continue
                    points = _points(readings.at[row], readings.value[row], start, end)
                    if points:
                        found.append((member, points))
        return sorted(found, key=lambda row: (row[0] is None, row[0] or 0))

    def topology(self: Windows, job: str) -> dict[str, Any]:  # type: ignore[misc]
        """Return {"nodes": [entity...], "edges": [{from, to, relation}]} of a job's attempt."""
        attempt = self.attempt_of(job)
        if attempt is None:
            return {"nodes": [], "edges": []}
        window = self.window(attempt, attempt.last_received)
        nodes: dict[tuple[str, str], dict[str, Any]] = {}
        edges: list[dict[str, Any]] = []

        def add(document: dict[str, Any]) -> dict[str, str]:
            nodes.setdefault((document["type"], document["id"]), document)
            return {"type": document["type"], "id": document["id"]}

        job_node = add(window.entity.document())
        host_nodes = [add(window.host_entity(n).document()) for n in range(len(window.hosts))]
        for host, node in zip(window.hosts, host_nodes, strict=True):
            switch = self.host_labels.get(host, {}).get("network.switch")
            if switch:
                entity = Entity("switch", str(switch)).document()
                edges.append({"from": node, "to": add(entity), "relation": "uplink"})
        for row in np.argsort(window.ranks):
            rank = add(window.rank_entity(int(row)).document())
            edges.append({"from": rank, "to": job_node, "relation": "member-of"})
            if window.host_of[row] >= 0:
                host_node = host_nodes[int(window.host_of[row])]
                edges.append({"from": rank, "to": host_node, "relation": "runs-on"})
                device = window.gpu_entity(int(row))
                if device is not None:
                    gpu = add(device.document())
                    edges.append({"from": rank, "to": gpu, "relation": "uses"})
                    edges.append({"from": gpu, "to": host_node, "relation": "attached-to"})
        for group in window.groups:
            members = sorted(int(window.ranks[row]) for row in group.rows)
            node = add({"type": "group", "id": group.name, "host": None, "ranks": members})
            for member in members:
                rank = {"type": "rank", "id": str(member)}
                edges.append({"from": rank, "to": node, "relation": "member-of"})
        return {"nodes": list(nodes.values()), "edges": edges}


def _summary(attempt: Attempt, host_names: list[str]) -> JobSummary:
    steps = attempt.grid.view()
    last = int(steps.index[-1]) if len(steps.index) else None
    seconds = None
    if len(steps.index) > 1:
        ends = np.nanmax(steps.last(RECENT_STEPS + 1).at, axis=0)
        seconds = float(np.median(np.diff(ends)))
    return JobSummary(
        job=attempt.job,
        attempt=attempt.number,
        cluster=attempt.cluster,
        first_at=attempt.first_at,
        last_at=attempt.last_at,
        world_size=max(attempt.world_size, len(attempt.placements.ranks)),
        hosts=tuple(sorted(host_names[number] for number in attempt.host_numbers().tolist())),
        ranks=len(attempt.placements.ranks),
        last_step=last,
        step_seconds=seconds,
    )


def _points(at: Any, value: Any, start: float, end: float) -> list[tuple[float, float]]:
    inside = (at >= start) & (at <= end) & ~np.isnan(value)  # NaN: nobody reported
    order = np.argsort(at[inside], kind="stable")
    values = [_shortest(one) for one in value[inside][order].tolist()]
    return list(zip(at[inside][order].tolist(), values, strict=True))


def _shortest(value: float) -> float:
    """Return a value that was kept as a float32 as it was sent: 2.4, not 2.4000000953674316."""
    single = np.float32(value)
    return float(str(single)) if float(single) == value else value
