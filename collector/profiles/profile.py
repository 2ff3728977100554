"""A profile: what was asked of a rank and its peer, and what came of it. Kept as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ...formats.chrome_trace import KINDS, TraceAmount, TraceSummary
from ...vocabulary.profiling import ProfileRequest

Role = Literal["suspect", "peer"]
State = Literal["waiting", "complete", "failed"]


@dataclass(slots=True)
class RankProfile:
    """One rank's part. `bytes` is the size of its trace as it is kept, compressed."""

    rank: int
    role: Role
    host: str | None
    status: State = "waiting"
    text: str = ""
    bytes: int = 0
    steps: int = 0
    seconds: float = 0.0
    summary: TraceSummary | None = None

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON, with what it holds per step."""
        row = asdict(self)
        row["summary"] = None if self.summary is None else _written(self.summary)
        return row

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> "RankProfile":
        """Return what `document` wrote. Raises KeyError, TypeError or ValueError."""
        summary = row["summary"]
        fields: dict[str, Any] = dict(row) | {
            "summary": None if summary is None else _read(summary)
        }
        return cls(**fields)


@dataclass(slots=True)
class JobProfile:
    """One profile of a job; times in seconds since the epoch, `until` is when it must begin."""

    id: str
    job: str
    incident: str | None
    by: str
    created_at: float
    until: float
    steps: int
    seconds: float
    ranks: list[RankProfile] = field(default_factory=list)

    @property
    def status(self) -> State:
        """Return waiting while a rank is waited for, failed where no rank sent a trace."""
        states = {row.status for row in self.ranks}
        if "waiting" in states:
            return "waiting"
        return "complete" if "complete" in states else "failed"

    def of(self, rank: int) -> RankProfile | None:
        """Return a rank's part, None where it was not asked."""
        return next((row for row in self.ranks if row.rank == rank), None)

    def request(self, row: RankProfile, max_bytes: int) -> ProfileRequest:
        """Return what is asked of the agent for a rank."""
        return ProfileRequest(
            id=self.id,
            job=self.job,
            rank=row.rank,
            steps=self.steps,
            seconds=self.seconds,
            max_bytes=max_bytes,
            until=self.until,
        )

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        names = ("id", "job", "incident", "by", "created_at", "until", "steps", "seconds")
        rows = [row.document() for row in self.ranks]
        return {**{name: getattr(self, name) for name in names}, "ranks": rows}

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "JobProfile":
        """Return what `document` wrote. Raises KeyError, TypeError or ValueError."""
        made = cls(**{name: value for name, value in document.items() if name != "ranks"})
        made.ranks = [RankProfile.parse(row) for row in document["ranks"]]
        return made


def _written(summary: TraceSummary) -> dict[str, Any]:
    return {
        "seconds": summary.seconds,
        "kinds": {kind: [row.count, row.seconds] for kind, row in summary.kinds.items()},
        "names": [
            [kind, name, row.count, row.seconds] for (kind, name), row in summary.names.items()
        ],
    }


def _read(row: Mapping[str, Any]) -> TraceSummary:
    return TraceSummary(
        seconds=float(row["seconds"]),
        kinds={
            kind: TraceAmount(int(count), float(seconds))
            for kind, (count, seconds) in row["kinds"].items()
            if kind in KINDS
        },
        names={
            (str(kind), str(name)): TraceAmount(int(count), float(seconds))
            for kind, name, count, seconds in row["names"]
        },
    )
