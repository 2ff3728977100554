"""Which action an incident asks for, read from its document. Pure.

Three never act: a cause that is provisional, one that is unknown, and one that would not lead
without what nobody could check.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...vocabulary import remedies, times
from ...vocabulary.faults import UNKNOWN
from ...vocabulary.ids import Fault
from ...vocabulary.remedies import EXCLUDING, FaultRemedy, RemedyKind
from ..settings.actions import ActionsSettings

_NO_FINDINGS = ("prior", "scope", "time")
"""Families of evidence that are no findings: what is known without looking at anything."""
NOBODY = "none"
"""Stands for the executor of a dry run, where no executor takes the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyVerdict:
    """A cause that may be acted on. `slowdown` is None where the job is stopped."""

    incident: str
    job: str
    attempt: int
    fault: Fault
    entity: Mapping[str, Any]
    host: str | None
    actions: Sequence[RemedyKind]
    probability: float | None
    slowdown: float | None
    at: float


@dataclass(frozen=True, slots=True)
class NoRemedy:
    """Why an incident asks for no action; `lasting`: that will hardly change while it lasts."""

    why: str
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class ChosenRemedy:
    """The smallest action that somebody can take; `executor` is its name, or NOBODY."""

    action: RemedyKind
    executor: str


@dataclass(frozen=True, slots=True)
class ExecutorReach:
    """Which actions an executor can take for which jobs (patterns; none: all)."""

    name: str
    jobs: Sequence[str]
    kinds: frozenset[RemedyKind]

    def takes(self, job: str) -> bool:
        return not self.jobs or any(fnmatchcase(job, pattern) for pattern in self.jobs)


def verdict(document: Mapping[str, Any], settings: ActionsSettings) -> RemedyVerdict | NoRemedy:
    """Return what an incident says about its cause, or why nothing is to be done about it."""
    cause = document["root_cause"]
    first = next(iter(cause["hypotheses"]), None)
    if document["status"] == "resolved":
        return NoRemedy("the incident is resolved", lasting=True)
    if first is None or first["fault"] == UNKNOWN:
        return NoRemedy("the cause is unknown")
    row = remedies.catalogue().get(Fault(first["fault"]))
    if row is None:
        return NoRemedy(f"no action mends {first['fault']}")
    if cause["status"] == "provisional":
        return NoRemedy("the first cause is provisional")
    if _given_wrong(document):
        return NoRemedy("a person said that the cause is wrong", lasting=True)
    if why := _doubt(cause, first, row, settings):
        return NoRemedy(why)
    if len(document["jobs"]) != 1:
        return NoRemedy("it is of several jobs: that is for people")
    slowdown = document["impact"]["slowdown"]
    if not row.at_any_speed and slowdown is not None and slowdown < settings.min_slowdown:
        return NoRemedy(f"the job goes on at {slowdown:.2f} of its usual step time")
    return RemedyVerdict(
        incident=document["id"],
        job=document["jobs"][0],
        attempt=document["attempt"],
        fault=Fault(first["fault"]),
        entity=first["entity"],
        host=first["entity"]["host"],
        actions=row.actions,
        probability=first["probability"],
        slowdown=slowdown,
        at=times.parse(document["updated_at"]),
    )


def chosen(
    found: RemedyVerdict, executors: Sequence[ExecutorReach], settings: ActionsSettings
) -> ChosenRemedy | NoRemedy:
    """Return the smallest action that the job's executor can take."""
    wanted: list[RemedyKind] = [kind for kind in found.actions if _placed(found, kind)]
    if not wanted:
        return NoRemedy(f"{found.fault} names no host to leave out")
    reach = next((row for row in executors if row.takes(found.job)), None)
    if reach is None:
        if settings.mode == "dry_run" and not executors:
            return _sure(ChosenRemedy(wanted[0], NOBODY), found, settings)
        return NoRemedy(f"no executor takes job {found.job}")
    able = reach.kinds
    action: RemedyKind | None = next((kind for kind in wanted if kind in able), None)
    if action is None:
        return NoRemedy(f"{reach.name} can do none of {', '.join(wanted)}")
    return _sure(ChosenRemedy(action, reach.name), found, settings)


def identity(found: RemedyVerdict, action: RemedyKind) -> str:
    """Return the id of an action: an incident asks for each at one place once."""
    place = found.host if action in EXCLUDING else ""
    text = f"{found.incident}\0{found.fault}\0{action}\0{place}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _given_wrong(document: Mapping[str, Any]) -> bool:
    held: Mapping[str, Any] = document.get("handling") or {}
    feedback: Sequence[Mapping[str, Any]] = held.get("feedback") or []
    return bool(feedback) and feedback[-1]["verdict"] == "wrong"


def _doubt(
    cause: Mapping[str, Any],
    first: Mapping[str, Any],
    row: FaultRemedy,
    settings: ActionsSettings,
) -> str:
    """Return why a cause is not sure enough, "" where it is. A person's word stands for any."""
    if cause["status"] == "confirmed":
        return ""
    least = min([settings.min_probability.get(kind, 0.0) for kind in row.actions], default=0.0)
    least = max(row.min_probability, least)
    probability = first["probability"]
    if probability is None:
        return "the cause has no calibrated probability"
    if probability < least:
        return f"its probability is {probability:.2f}, and {least:.2f} is asked for"
    return _claims(cause, first)


def _claims(cause: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """Return how a cause rests on what nobody could check, "" where it would lead without that."""
    supports = [term for term in first["evidence"] if term["relation"] == "supports"]
    claimed = [term for term in supports if term.get("quality") == "claimed"]
    if not claimed:
        return ""
    found = [term for term in supports if term["family"] not in _NO_FINDINGS]
    if len(claimed) >= len(found):
        return "nothing supports it but what was only claimed"
    left = first["score"] - sum(max(term["weight"], 0.0) for term in claimed)
    others = [other["score"] for other in cause["hypotheses"][1:]]
    if left <= max([cause["unknown"]["score"], *others]):
        return "it leads by what was only claimed"
    return ""


def _sure(
    choice: ChosenRemedy, found: RemedyVerdict, settings: ActionsSettings
) -> ChosenRemedy | NoRemedy:
    """Return the choice where the cause is as sure as the settings ask for this very action."""
    least = settings.min_probability.get(choice.action, 0.0)
    if found.probability is not None and found.probability < least:
        return NoRemedy(
            f"its probability is {found.probability:.2f}, and {least:.2f} is asked for "
            f"{choice.action}"
        )
    return choice


def _placed(found: RemedyVerdict, kind: RemedyKind) -> bool:
    """Return whether the cause says where: a node to leave out, a device of a rank."""
    if kind == "exclude_device":
        return found.entity["type"] == "gpu" and found.host is not None
    return kind != "exclude_node" or found.host is not None
