"""Actions: what was done about an incident, or would have been, and what came of it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ..entities import Entity
from ..faults import ONE_OF_ALL
from ..remedies import RemedyKind, RemedyMode, RemedyOutcome, RemedyState
from ..shapes import Count, DocumentShape, Figure, OptionalText, Time


@dataclass(frozen=True, slots=True)
class ActionStep(DocumentShape):
    """One change of an action's state, or what came of it; `by` is a person, or rankscope."""

    at: Time
    state: RemedyState | RemedyOutcome
    by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRecordDocument(DocumentShape):
    """One action, and how it stands.

    `at` is when it was planned; it starts at `due_at` unless it is vetoed. `outcome` is null while
    it is not known, and stays so where nothing was done (`mode` dry_run). Step times are those of
    the job: before, as it was slow (null: no step ended), and after. `reason` says why it is where
    it is. `undo` says how far taking it back is.
    """

    id: str
    incident: str
    cause: Annotated[str, ONE_OF_ALL]
    entity: Entity
    host: str | None
    job: str
    attempt: Count
    action: RemedyKind
    executor: str
    mode: RemedyMode
    state: RemedyState
    at: Time
    due_at: Time
    started_at: Time | None
    ended_at: Time | None
    probability: Figure | None
    reason: str
    outcome: RemedyOutcome | None
    job_step_seconds_before: Figure | None
    job_step_seconds_after: Figure | None
    undo: Literal["", "wanted", "started", "failed"]
    steps: list[ActionStep]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCount(DocumentShape):
    """How many actions about a cause, by one executor, were or would have been taken.

    `taken` are done, `right` of them recovered, `wrong` not, `undetermined` nobody can say; those
    that are left are still watched, or were undone before anybody knew.
    """

    cause: Annotated[str, ONE_OF_ALL]
    executor: str
    mode: RemedyMode
    planned: Count
    taken: Count
    right: Count
    wrong: Count
    undetermined: Count
    vetoed: Count
    withdrawn: Count
    failed: Count
    undone: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRecordsDocument(DocumentShape):
    """A page of actions, the newest first, and the sum of all that fit, by cause and executor."""

    items: list[ActionRecordDocument]
    record: list[ActionCount]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherOrderDocument(DocumentShape):
    """What the agent of a host is asked to do to ranks that torchrun started there.

    restart: end those of the job that started before `at`. leave: end their torchrun too. `id` is
    the action's.
    """

    id: str
    job: str
    what: Literal["restart", "leave"]
    at: float
