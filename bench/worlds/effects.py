"""What a fault or a habit changes: phases of steps, readings, events, the end of all steps."""

from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["data", "compute", "gc", "network", "optimizer", "checkpoint"]
StuckKind = Literal["host", "gpu", "transport", "order", "gone", "crash", "leave"]
"""Ranks that do not come: stuck on the host or the device, in the network, in collectives called in
another order than their peers', gone without a word, after a crash; or that leave before the start.
"""
EditKind = Literal["set", "scale", "add", "least", "most", "rate", "drop", "grow", "pulse"]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class StepEffect:
    """A phase of the steps of some ranks takes `factor` times as long and `seconds` more.

    `network` is the exposed part of collectives that everybody shares. `every`: in each so-manieth
    step only; `chance`: in that share of the steps, drawn for the effect as a whole; `one_of`: for
    one of the ranks, each time another one; `ramp`: seconds until the full effect; `spread`: of the
    seconds from step to step; `tokens`: the ranks have as many more tokens.
    """

    phase: Phase
    ranks: tuple[int, ...]
    begin: float
    end: float
    factor: float = 1.0
    seconds: float = 0.0
    every: float = 1.0
    chance: float = 1.0
    one_of: bool = False
    ramp: float = 0.0
    spread: float = 0.0
    tokens: bool = False


@dataclass(frozen=True, slots=True)
class SeriesEdit:
    """Readings of a metric differ between `begin` and `end`.

    `host`: of that host alone; `match`: with these attributes. `how`: `set`; `scale`; `add`;
    `least` and `most` (bounds); `drop`; `rate` (adds `value` a second from `begin` to `end`);
    `grow` (by the factor exp(value) each second, for `lasts` seconds, kept afterwards); `pulse`
    (adds `value` times the reading, gone by e after `lasts` seconds).
    """

    metric: str
    how: EditKind
    value: float
    begin: float
    end: float = float("inf")
    host: str | None = None
    match: dict[str, Scalar] = field(default_factory=dict)
    lasts: float = 60.0


@dataclass(frozen=True, slots=True)
class ExtraSeries:
    """A series that only this case has; of the job's resource or the host's own."""

    metric: str
    host: str
    attributes: dict[str, Scalar]
    value: float
    begin: float
    end: float = float("inf")


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A log record of a host; `of_job`: with the job's id."""

    name: str
    host: str
    at: float
    attributes: dict[str, Scalar]
    of_job: bool


@dataclass(frozen=True, slots=True)
class EndMark:
    """Ranks end at a time, or come no more; `silent`: without a word of anybody's watchdog."""

    how: StuckKind
    ranks: tuple[int, ...]
    at: float
    code: int = 1
    signal: int = 0
    silent: bool = False


@dataclass(frozen=True, slots=True)
class StopMark:
    """No step ends after `at`: these ranks do not come. `ends`: when the processes exit."""

    at: float
    ranks: tuple[int, ...]
    kind: StuckKind
    ends: float = float("inf")


@dataclass(frozen=True, slots=True)
class RestartMark:
    """The job's first attempt ends at `at`; the second begins `seconds` later, of `world` ranks.

    `back`: how many steps before the last one it goes on.
    """

    at: float
    seconds: float
    world: int
    back: int


@dataclass(frozen=True, slots=True)
class CaseTruth:
    """What is wrong, and where; quiet cases have no fault."""

    fault: str | None = None
    type: str | None = None
    id: str | None = None
    host: str | None = None
    ranks: tuple[int, ...] = ()
    onset: float | None = None
    also: tuple[tuple[str, str], ...] = ()
    """Other entities (type, id) that are right as well."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        entity = {"type": self.type, "id": self.id, "host": self.host} if self.type else None
        return {
            "fault": self.fault,
            "entity": entity,
            "also": [list(one) for one in self.also],
            "ranks": list(self.ranks),
            "onset": self.onset,
        }
