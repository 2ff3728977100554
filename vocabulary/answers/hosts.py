"""The nodes that report and their devices."""

from dataclasses import dataclass

from ..shapes import DocumentShape, OptionalText


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading(DocumentShape):
    """The newest value of one series of a node or device."""

    metric: str
    attributes: dict[str, str]
    value: float | str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevice(DocumentShape):
    """A device of a node and its newest readings; `rank` and `job`: who uses it.

    `index`: its number on the node; null, as `model`, where nothing describes it.
    """

    hw_id: str
    index: int | None
    model: str | None
    job: str | None
    rank: int | None
    readings: list[NodeReading]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow(DocumentShape):
    """A host that reports. `ranks`: by job, how many are placed there."""

    host: str
    last_received: str
    switch: str | None
    ranks: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRows(DocumentShape):
    """Hosts by name."""

    items: list[NodeRow]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail(DocumentShape):
    """A host in full: `ranks` by job, what it reports of itself, and its devices."""

    host: str
    last_received: str
    switch: str | None
    ranks: dict[str, list[int]]
    readings: list[NodeReading]
    devices: list[NodeDevice]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine(DocumentShape):
    """A series of a node: `attributes` name the device (`hw.id`) and the variant."""

    attributes: dict[str, str]
    points: list[tuple[str, float | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeries(DocumentShape):
    """A metric of a node and its devices over time."""

    metric: str
    unit: str | None
    series: list[NodeLine]
