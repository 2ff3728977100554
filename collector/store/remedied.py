"""Actions about causes, a transaction each: asked by whoever carries them out, and by the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import mutes, remedy_changes, remedy_rows
from .mutes import DeliveryMute
from .parts import StorePart
from .remedy_changes import PlannedRemedy, RemedyBudget
from .remedy_rows import RemedyFilter, RemedyRecord, RemedyStep

_ENTERED_AT_ONCE = 100
"""Steps that timelines get in one go."""


class RemedyStore(StorePart):
    """The record of actions. What is told LostLeaseError has to let go of the action at once."""

    def plan_remedy(self, new: PlannedRemedy, now: float, *, settle_seconds: float) -> str:
        """Keep a planned action, once; return why not, "" where it is kept."""
        with self._database.write() as db:
            return remedy_changes.plan(db, new, now, settle_seconds=settle_seconds)

    def start_remedy(
        self,
        identity: str,
        *,
        owner: str,
        seen: Mapping[str, Any],
        measured: Mapping[str, Any],
        budget: RemedyBudget,
        now: float,
    ) -> str:
        """Begin to carry an action out; return why not yet. Raises LostLeaseError."""
        with self._database.write() as db:
            return remedy_changes.start(
                db,
                identity,
                owner=owner,
                seen=seen,
                measured=measured,
                budget=budget,
                now=now,
            )

    def take_remedy(self, identity: str, *, owner: str, now: float) -> bool:
        """Take over what nobody carries out; False where somebody does, or it is over."""
        with self._database.write() as db:
            return remedy_changes.take(db, identity, owner=owner, now=now)

    def renew_remedy(self, identity: str, *, owner: str, now: float) -> None:
        """Renew a lease before something is done under it. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.renew(db, identity, owner=owner, now=now)

    def let_go_of_remedy(self, identity: str, *, owner: str, until: float, reason: str) -> None:
        """Leave an action to whoever looks at it after `until`. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.let_go(db, identity, owner=owner, until=until, reason=reason)

    def finish_remedy(
        self, identity: str, *, owner: str, state: str, reason: str, now: float, undo: bool = False
    ) -> None:
        """End what was started, done or failed. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.finish(
                db, identity, owner=owner, state=state, reason=reason, now=now, undo=undo
            )

    def withdraw_remedy(self, identity: str, reason: str, now: float) -> None:
        """End a planned action whose reason is gone. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.withdraw(db, identity, reason, now)

    def hold_remedy(self, identity: str, reason: str) -> None:
        """Note why a planned action waits. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.hold(db, identity, reason)

    def veto_remedy(self, identity: str, *, by: str, note: str, now: float) -> None:
        """Take a planned action off. Raises UnknownIdError, RefusedError."""
        with self._database.write() as db:
            remedy_changes.veto(db, identity, by=by, note=note, now=now)

    def want_undo_of_remedy(self, identity: str, *, by: str, note: str, now: float) -> None:
        """Ask for an action to be taken back. Raises UnknownIdError, RefusedError."""
        with self._database.write() as db:
            remedy_changes.want_undo(db, identity, by=by, note=note, now=now)

    def undid_remedy(self, identity: str, *, owner: str, text: str, now: float) -> None:
        """Note that an action was taken back. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.undone(db, identity, owner=owner, text=text, now=now)

    def kept_remedy(self, identity: str, *, owner: str, text: str, now: float) -> None:
        """Note that an action cannot be taken back. Raises LostLeaseError."""
        with self._database.write() as db:
            remedy_changes.undo_failed(db, identity, owner=owner, text=text, now=now)

    def settle_remedy(
        self, identity: str, *, outcome: str, after: float | None, text: str, now: float
    ) -> bool:
        """Note what came of an action, once; False where it is known."""
        with self._database.write() as db:
            return remedy_changes.settle(
                db, identity, outcome=outcome, after=after, text=text, now=now
            )

    def entered_remedy_step(self, number: int) -> None:
        """Note that a step stands in its incident's timeline."""
        with self._database.write() as db:
            remedy_changes.entered(db, number)

    def remedy(self, identity: str) -> RemedyRecord:
        """Return an action. Raises UnknownIdError."""
        with self._database.read() as db:
            return remedy_rows.find(db, identity)

    def remedies(self, wanted: RemedyFilter | None = None) -> list[RemedyRecord]:
        """Return the actions that fit, the newest first."""
        with self._database.read() as db:
            return remedy_rows.every(db, wanted or RemedyFilter())

    def remedies_waiting(self, now: float) -> list[RemedyRecord]:
        """Return the actions about which something is to be done, the oldest first."""
        with self._database.read() as db:
            return remedy_rows.waiting(db, now)

    def remedy_steps(self, identities: Sequence[str]) -> dict[str, list[RemedyStep]]:
        """Return the steps of some actions in their order, by action."""
        with self._database.read() as db:
            return remedy_rows.steps(db, identities)

    def remedy_steps_to_enter(self) -> list[tuple[RemedyStep, RemedyRecord]]:
        """Return the oldest steps that no timeline has yet, each with its action."""
        with self._database.read() as db:
            return remedy_rows.to_enter(db, _ENTERED_AT_ONCE)

    def trim_remedies(self, *, before: float) -> int:
        """Delete actions that ended before that; return how many."""
        with self._database.write() as db:
            return remedy_rows.trim(db, before=before)

    def active_mutes(self, now: float) -> list[DeliveryMute]:
        """Return the silences and maintenance windows that hold at `now`."""
        with self._database.read() as db:
            return mutes.active(db, now)
