"""What the API answers with for pictures: bands, heatmaps, phases, waits; times are RFC 3339."""

from typing import Literal

from pydantic import BaseModel

Values = list[float | None]


class Line(BaseModel):
    """One rank or host among the others: values as in the bands."""

    rank: int | None
    host: str | None
    values: Values


class Nonfinite(BaseModel):
    """When a rank's or a host's value was NaN or infinite, at most 100 times."""

    rank: int | None
    host: str | None
    at: list[str]


class Variant(BaseModel):
    """One variant of a metric over `count` ranks or hosts; lists run over buckets of time.

    `low` and `high` are the quartiles over ranks; a bucket in which nobody reported has null.
    """

    attributes: dict[str, str]
    count: int
    lowest: Values
    low: Values
    median: Values
    high: Values
    highest: Values
    mean: Values
    lines: list[Line]
    nonfinite: list[Nonfinite]


class Distribution(BaseModel):
    """A metric summed up over ranks: value i lies `seconds` * (i + 0.5) after `from`.

    `rate`: the metric is a counter, and the values are its increase per second. `source`: windows
    (the recent past) or journal, read again. `held_from`: since when windows hold the metric.
    """

    metric: str
    unit: str | None
    rate: bool
    start: str
    seconds: float
    source: Literal["windows", "journal"]
    held_from: str | None
    variants: list[Variant]


class Heatmap(BaseModel):
    """A per-step metric, ranks down, steps across. `cells`: base64, one byte a cell, row by row.

    A cell's value is low + byte / 254 * (high - low), the highest of the ranks and steps that it
    stands for; 255: nobody reported. Values beyond `high` have the byte 254. `ranks` and `steps`
    are the first of each row and column. Without data, `cells` is empty.
    """

    metric: str
    unit: str | None
    rows: int
    columns: int
    ranks: list[int]
    steps: list[int]
    ranks_a_row: float
    steps_a_column: float
    first_at: str | None
    last_at: str | None
    low: float
    high: float
    cells: str


class PhaseTimes(BaseModel):
    """Seconds of a step by phase, means over ranks; `other` is what no phase accounts for."""

    at: list[str]
    steps: list[int]
    seconds: dict[str, Values]


class AwaitedRank(BaseModel):
    """A rank that others waited for: rank-seconds they lost, and steps in which it was the last."""

    rank: int
    host: str | None
    seconds: float
    steps: int


class WaitMatrix(BaseModel):
    """Rank-seconds that `names`[row] waited for `names`[column], over `steps` steps.

    Up to 64 ranks it is by rank, else by host, at most the 64 hosts that are awaited most.
    """

    by: Literal["rank", "host"]
    names: list[str]
    seconds: list[Values]
    steps: int
    awaited: list[AwaitedRank]


class NodeReading(BaseModel):
    """The newest value of one series of a node or device."""

    metric: str
    attributes: dict[str, str]
    value: float | str
    at: str


class NodeDevice(BaseModel):
    """A device of a node and its newest readings; `rank` and `job`: who uses it.

    `index`: its number on the node; null, as `model`, where nothing describes it.
    """

    hw_id: str
    index: int | None
    model: str | None
    job: str | None
    rank: int | None
    readings: list[NodeReading]


class NodeRow(BaseModel):
    """A host that reports. `ranks`: by job, how many are placed there."""

    host: str
    last_received: str
    switch: str | None
    ranks: dict[str, int]


class NodeRows(BaseModel):
    """Hosts by name."""

    items: list[NodeRow]
    next_cursor: str | None = None


class NodeDetail(BaseModel):
    """A host in full: `ranks` by job, what it reports of itself, and its devices."""

    host: str
    last_received: str
    switch: str | None
    ranks: dict[str, list[int]]
    readings: list[NodeReading]
    devices: list[NodeDevice]


class NodeLine(BaseModel):
    """A series of a node: `attributes` name the device (`hw.id`) and the variant."""

    attributes: dict[str, str]
    points: list[tuple[str, float | str]]


class NodeSeries(BaseModel):
    """A metric of a node and its devices over time."""

    metric: str
    unit: str | None
    series: list[NodeLine]


class CollectiveOperations(BaseModel):
    """One kind of collective on one rank in its last reporting interval; null: not reported.

    Durations in seconds (the median and the longest), `size` in bytes, `bus_bandwidth` in bytes a
    second. `lateness`: seconds that the others waited for this rank in the median operation, where
    the kind synchronises all members.
    """

    op: str
    source: str | None
    at: str
    count: float | None
    duration: float | None
    duration_max: float | None
    size: float | None
    bus_bandwidth: float | None
    lateness: float | None


class CollectiveMember(BaseModel):
    """One rank in one communication group: its last collectives, from the source that is named.

    `also`: other names of the group, under which NCCL reports it. `at`: when the counters were last
    reported, `changed_at`: when one last moved. `pid`, `pci_bus_id`, `communicator_rank`: the
    process as its own namespace numbers it, its device and its rank there, as NCCL logged them.
    """

    group: str
    kind: str
    description: str
    size: int
    also: list[str]
    rank: int
    host: str | None
    source: str | None
    enqueued: float | None
    started: float | None
    completed: float | None
    at: str | None
    changed_at: str | None
    pid: int | None = None
    pci_bus_id: str | None = None
    communicator_rank: int | None = None
    operations: list[CollectiveOperations]


class Collectives(BaseModel):
    """The ranks of a job in its communication groups, by group and rank."""

    items: list[CollectiveMember]
    next_cursor: str | None = None


class OperationMember(BaseModel):
    """One rank in one collective, by its host's clock; null: not reported.

    `lateness`: seconds that others waited for it, where the kind synchronises all members.
    """

    rank: int
    host: str | None
    source: str
    enqueued_at: str | None
    completed_at: str | None
    seconds: float | None
    lateness: float | None


class CollectiveOperation(BaseModel):
    """One collective: its number in the group (of its kind, where NCCL numbers it), its members."""

    group: str
    op: str
    sequence: int
    size: int | None
    members: list[OperationMember]


class ClockOffset(BaseModel):
    """How far a host's clock is ahead of the middle of all hosts, by when collectives ended.

    `uncertainty_seconds`: the spread over `collectives`, at least how exactly their ends are known.
    """

    host: str
    seconds: float
    uncertainty_seconds: float
    collectives: int


class SingleCollectives(BaseModel):
    """Single collectives of a job, the newest of each group and kind first."""

    items: list[CollectiveOperation]
    clock_offsets: list[ClockOffset]
    next_cursor: str | None = None
