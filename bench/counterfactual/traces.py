"""Traces of real jobs that others published, with how much stragglers slow each down.

A folder of ByteDance-Seed/StragglerAnalysis (`data`): trace-NAME.parquet, one row an operation of
a worker, and result-NAME.json, what its authors found. Their slowdown: steps as they are over steps
in which each operation takes the mean of its kind. The folder is downloaded by whoever runs this.

References: Understanding Stragglers in Large Model Training Using What-if Analysis (OSDI 2025).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from rankscope.detectors.arrays import Floats
from rankscope.detectors.counterfactual.graph import StepGraph
from rankscope.detectors.counterfactual.slowest import without_slowest
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement

from . import pipelines

CLOSE = 0.05
"""By so much a slowdown may differ from the authors'."""

_FORWARD, _BACKWARD = "forward-compute", "backward-compute"


@dataclass(frozen=True, slots=True)
class OperationTrace:
    """Compute of a job: [stages, micro-batches, steps, pipelines], s; `steps`: [steps], s each."""

    name: str
    forward: Floats
    backward: Floats
    steps: Floats

    @property
    def works(self) -> Floats:
        """Return [ranks, steps], what each rank computes in a step; rank: pipeline, then stage."""
        stages, _, steps, lines = self.forward.shape
        busy: Floats = (self.forward + self.backward).sum(axis=1)
        works: Floats = busy.transpose(2, 0, 1).reshape(lines * stages, steps)
        return works


@dataclass(frozen=True, slots=True)
class TraceSlowdown:
    """Slowdowns of one trace by all stragglers, and by its slowest worker alone.

    authors: theirs. batches: by replaying micro-batches. totals: by what each rank computes in a
    step, as a probe reports it. slowest: of the slowest worker by the meter, slowest_authors:
    theirs of their slowest 3 %, None where the folder has none.
    """

    name: str
    authors: float
    batches: float
    totals: float
    slowest: float | None
    slowest_authors: float | None

    @property
    def close(self) -> bool:
        """Return whether the replay of micro-batches says what the authors say."""
        return abs(self.batches / self.authors - 1) <= CLOSE

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it, with errors as shares."""
        errors = {
            f"{name}_error": round(getattr(self, name) / self.authors - 1, 4)
            for name in ("batches", "totals")
        }
        return {**asdict(self), **errors, "close": self.close}


def slowdowns(folder: Path) -> Iterator[TraceSlowdown]:
    """Yield what the traces of a folder say beside what their authors say, by name."""
    for path in sorted(folder.glob("trace-*.parquet")):
        name = path.stem.removeprefix("trace-")
        found = json.loads((folder / f"result-{name}.json").read_text(encoding="utf-8"))
        worst = folder / f"mw-{name}.json"
        alone = json.loads(worst.read_text(encoding="utf-8")) if worst.exists() else None
        trace = read(path, name)
        yield TraceSlowdown(
            name=name,
            authors=found["blocking_slowdown"],
            batches=by_batches(trace),
            totals=by_totals(trace),
            slowest=without_worst(trace),
            slowest_authors=None if alone is None else alone["tori"] / alone["trem"],
        )


def read(path: Path, name: str) -> OperationTrace:
    """Return the compute of a trace; raises OSError, and ArrowInvalid for what is no trace."""
    table = parquet.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    kinds = columns["optype"].astype(str)
    index, step = np.unique(columns["step"], return_inverse=True)
    shape = (
        int(columns["stage"].max()) + 1,
        int(columns["mb_id"].max()) + 1,
        len(index),
        int(columns["dp_rank"].max()) + 1,
    )

    def of(kind: str) -> Floats:
        mine = kinds == kind
        found = np.zeros(shape)
        places = tuple(columns[key][mine].astype(int) for key in ("stage", "mb_id"))
        found[(*places, step[mine], columns["dp_rank"][mine].astype(int))] = columns["duration"][
            mine
        ]
        return found

    begins, ends = np.full(len(index), np.inf), np.full(len(index), -np.inf)
    np.minimum.at(begins, step, columns["start_ts"])
    np.maximum.at(ends, step, columns["start_ts"] + columns["duration"])
    return OperationTrace(name, of(_FORWARD), of(_BACKWARD), ends - begins)


def by_batches(trace: OperationTrace) -> float:
    """Return the slowdown by replaying micro-batches; what compute does not explain stays."""

    def usual(work: Floats) -> Floats:
        return np.broadcast_to(work.mean(axis=(0, 1, 3), keepdims=True), work.shape)

    now = pipelines.span(trace.forward, trace.backward)
    ideal = pipelines.span(usual(trace.forward), usual(trace.backward))
    return _slowdown(trace, now - ideal)


def by_totals(trace: OperationTrace) -> float:
    """Return the slowdown by the meter's graph of what each rank computes in a whole step."""
    works = trace.works
    graph = StepGraph(np.arange(len(works)), trace.forward.shape[0])

    def span(work: Floats) -> Floats:
        return graph.span(graph.meet(np.zeros_like(work), work))

    usual = np.broadcast_to(works.mean(axis=0, keepdims=True), works.shape)
    return _slowdown(trace, span(works) - span(usual))


def without_worst(trace: OperationTrace) -> float | None:
    """Return the slowdown by the slowest worker, as the meter of a job says it."""
    works, stages = trace.works, trace.forward.shape[0]
    placed = JobTopology(
        Job("example"),
        placements=[
            RankPlacement(rank, "host-0", dp=rank // stages, tp=0, pp=rank % stages)
            for rank in range(len(works))
        ],
    )
    exchange = np.maximum(trace.steps - works.max(axis=0), 0.0)
    roles = np.arange(len(works)) % stages
    window = sketch(works, exchange=exchange, placed=placed, role_of=roles)
    found = without_slowest(window, "rank")
    if found is None or 1 not in found.removed:
        return None
    return found.step_seconds / found.removed[1].step_seconds


def _slowdown(trace: OperationTrace, lost: Floats) -> float:
    """Return how many times longer steps are than without what they lose, [steps] (s)."""
    return float(trace.steps.mean() / (trace.steps - lost).mean())


def document(folder: Path) -> Mapping[str, Any]:
    rows = list(slowdowns(folder))
    return {"traces": [row.document() for row in rows], "close": all(row.close for row in rows)}
