"""One partition's side: claims the roots of its incidents, and folds those that others have.

An incident that blames what jobs share is withheld until the correlator has answered: milliseconds,
or `WAIT_SECONDS` where it is away. One that is folded goes on here and shows nothing; its changes
go to the incident that it is folded into as parts of that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...vocabulary.ids import IncidentId, Job
from ...vocabulary.incidents import RootCause, TimelineMoment
from ..lifecycle import IncidentChange, TrackedIncident
from ..tracker import IncidentTracker
from . import elsewhere
from .messages import ClaimAnswer, IncidentPart, Message, RootClaim
from .roots import SharedRoots

CORRELATOR = 0
"""The partition that answers claims."""

WAIT_SECONDS = 5.0
AGAIN_SECONDS = 2.0
"""How often a claim without an answer is repeated."""
REPEAT_SECONDS = 10.0
"""How often one that has its answer is, and what it costs a folded job is said."""
MOST_UNSEEN = 2000

Root = Callable[[RootCause, str | None], str | None]


@dataclass(slots=True)
class _AnnouncedClaim:
    """An incident that blames a shared root."""

    root: str
    since: float
    announced: bool
    """Whether anybody was shown it."""
    sent_at: float = 0.0
    answered: bool = False
    into: IncidentId | None = None
    into_partition: int = 0
    withheld: list[IncidentChange] = field(default_factory=list)
    before: dict[Job, dict[int, float]] = field(default_factory=dict)
    """GPU-seconds that its own document has shown: they are no part of the other incident."""
    parts_at: dict[Job, float] = field(default_factory=dict)

    @property
    def folded(self) -> bool:
        return self.into is not None


@dataclass(slots=True)
class PartitionClaims:
    """Claims of one partition. `outgoing` is what it has to send: (partition, message).

    `alone`: there is no other; what it sends is its own to take at once.
    """

    partition: int
    alone: bool = False
    roots: SharedRoots = field(default_factory=SharedRoots)
    outgoing: list[tuple[int, Message]] = field(default_factory=list)
    _claimed: dict[IncidentId, _AnnouncedClaim] = field(default_factory=dict)
    _unseen: dict[IncidentId, None] = field(default_factory=dict)
    """Incidents that were folded before anybody was shown them."""

    def evaluated(
        self,
        tracker: IncidentTracker,
        job: Job,
        made: Sequence[IncidentChange],
        root_of: Root,
        now: float,
    ) -> list[IncidentChange]:
        """Return what may be shown of the changes of a job's evaluation, and of those withheld."""
        incidents = [one for one in tracker.of_job(job) if one.open and one.document is not None]
        opened = {change.incident.id for change in made if change.kind == "incident.opened"}
        shown: list[IncidentChange] = []
        for incident in incidents:
            shown += self._blames(incident, root_of, now, announced=incident.id not in opened)
        shown += self.passed(tracker, made, now)
        for incident in incidents:
            shown += self._in_time(incident, job, now)
        return shown

    def passed(
        self, tracker: IncidentTracker, made: Iterable[IncidentChange], now: float
    ) -> Iterator[IncidentChange]:
        """Yield what may be shown of changes; the others are withheld or sent as parts."""
        for change in made:
            held = self._claimed.get(change.incident.id)
            if held is None:
                yield change
                continue
            over = change.kind == "incident.resolved"
            if held.folded:
                incident = tracker.find(change.incident.id)
                if incident is not None:
                    self._parts(incident, held, tuple(incident.parts), now, over=over)
            elif held.answered or held.announced:
                yield change
            else:
                held.withheld.append(change)
            if over:
                by_person = not held.folded and change.incident.handling.resolved is not None
                yield from self._release(change.incident.id, held, now, by_person=by_person)

    def take(self, message: Message, tracker: IncidentTracker, now: float) -> list[IncidentChange]:
        """Take what another partition has sent; return what changed here."""
        if isinstance(message, RootClaim):
            answer = self.roots.claim(message, now)
            if answer is not None:
                self.outgoing.append((message.partition, answer))
            return []
        if isinstance(message, IncidentPart):
            incident = tracker.find(message.into)
            change = None if incident is None else elsewhere.take(incident, message, now)
            if incident is None or change is None:
                return []
            tracker.note(change, incident)
            return list(self.passed(tracker, [change], now))
        return self._answered(message, tracker, now)

    def _answered(
        self, answer: ClaimAnswer, tracker: IncidentTracker, now: float
    ) -> list[IncidentChange]:
        held, incident = self._claimed.get(answer.incident), tracker.find(answer.incident)
        if held is None or incident is None or held.root != answer.root:
            return []
        if answer.into == answer.incident:
            return list(self._own(incident, held, now))
        if held.into == answer.into:
            return []
        was = held.into
        held.answered, held.into = True, answer.into
        held.into_partition = answer.into_partition
        held.withheld.clear()
        shown: list[IncidentChange] = []
        if held.announced and was is None:
            held.before = {job: dict(part.lost) for job, part in incident.parts.items()}
            shown.append(_explained_by(answer.into, incident, now))
        self._parts(incident, held, tuple(incident.parts), now)
        return shown

    def _blames(
        self, incident: TrackedIncident, root_of: Root, now: float, *, announced: bool
    ) -> Iterator[IncidentChange]:
        """Claim what an incident blames now, and let go of what it blamed before."""
        assert incident.first is not None  # noqa: S101  it has a document
        cluster = next(iter(incident.parts.values())).health.cluster
        root = root_of(incident.first.cause, cluster)
        held = self._claimed.get(incident.id)
        if held is not None and held.root == root:
            return
        if held is not None:
            announced = held.announced
            if held.folded:
                self._parts(incident, held, tuple(incident.parts), now, over=True)
            if root is None:
                yield from self._own(incident, held, now)
            yield from self._release(incident.id, held, now)
        if root is not None:
            announced = announced and incident.id not in self._unseen
            self._claimed[incident.id] = _AnnouncedClaim(root, now, announced)

    def _in_time(self, incident: TrackedIncident, job: Job, now: float) -> Iterator[IncidentChange]:
        """Repeat what is due, and wait no longer for an answer that does not come."""
        held = self._claimed.get(incident.id)
        if held is None:
            return
        if not held.answered and now - held.since >= WAIT_SECONDS:
            yield from self._own(incident, held, now)
        every = REPEAT_SECONDS if held.answered else AGAIN_SECONDS
        if now - held.sent_at >= every:
            held.sent_at = now
            self._claim(incident.id, held, now, onset=incident.opened_at)
        if held.folded and now - held.parts_at.get(job, 0.0) >= REPEAT_SECONDS:
            self._parts(incident, held, (job,), now)

    def _own(
        self, incident: TrackedIncident, held: _AnnouncedClaim, now: float
    ) -> Iterator[IncidentChange]:
        """Show an incident: it has its root, or blames one that is its own."""
        hidden = held.folded or not held.announced
        changes = tuple(held.withheld)
        held.answered = True
        held.into, held.into_partition = None, 0
        for kept in (held.withheld, held.before, held.parts_at):
            kept.clear()
        if hidden and not changes:
            notify = incident.notices.severity is not None
            changes = (incident.change("incident.updated", now, notify=notify),)
        if changes and not held.announced:
            changes = (replace(changes[0], kind="incident.opened"), *changes[1:])
        held.announced |= bool(changes)
        self._unseen.pop(incident.id, None)
        yield from changes

    def _release(
        self, name: IncidentId, held: _AnnouncedClaim, now: float, *, by_person: bool = False
    ) -> Iterator[IncidentChange]:
        yield from held.withheld
        if held.folded and not held.announced:
            self._unseen[name] = None
            if len(self._unseen) > MOST_UNSEEN:
                del self._unseen[next(iter(self._unseen))]
        self._claim(name, held, now, ended=True, by_person=by_person)
        del self._claimed[name]

    def _claim(
        self,
        name: IncidentId,
        held: _AnnouncedClaim,
        now: float,
        *,
        onset: float = 0.0,
        ended: bool = False,
        by_person: bool = False,
    ) -> None:
        claim = RootClaim(
            incident=name,
            partition=self.partition,
            root=held.root,
            onset=onset,
            at=now,
            into=held.into,
            into_partition=held.into_partition,
            ended=ended,
            by_person=by_person,
        )
        self.outgoing.append((CORRELATOR, claim))

    def _parts(
        self,
        incident: TrackedIncident,
        held: _AnnouncedClaim,
        jobs: Iterable[Job],
        now: float,
        *,
        over: bool = False,
    ) -> None:
        assert held.into is not None  # noqa: S101  it is folded
        for job in jobs:
            if isinstance(incident.parts[job], elsewhere.JobElsewhere):
                continue  # its own partition says how it does
            part = elsewhere.part_of(incident, incident.parts[job], over=over, at=now)
            shown = held.before.get(job, {})
            lost = tuple((week, lost - shown.get(week, 0.0)) for week, lost in part.lost)
            held.parts_at[job] = now
            self.outgoing.append((held.into_partition, replace(part, into=held.into, lost=lost)))


def _explained_by(other: IncidentId, incident: TrackedIncident, now: float) -> IncidentChange:
    """Return how an incident that was shown ends for those who see it."""
    document = incident.document
    assert document is not None  # noqa: S101  it was shown
    text = f"explained by incident {other}"
    ended = replace(
        document,
        status="resolved",
        updated_at=now,
        resolved_at=now,
        timeline=(*document.timeline, TimelineMoment(now, "resolved", text)),
    )
    return IncidentChange("incident.resolved", ended, notify=incident.notices.severity is not None)
