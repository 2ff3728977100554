"""What must hold at the end of a round, as sentences about what does not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from .receiver import TakenMessage

OPENED, RESOLVED = "incident.opened", "incident.resolved"
_COMPARED = ("status", "severity", "opened_at", "resolved_at", "updated_at")


def payloads(acknowledged: AbstractSet[str], held: AbstractSet[str]) -> Iterator[str]:
    """Yield that payloads were acknowledged and are not in the journal."""
    lost = len(acknowledged - held)
    if lost:
        yield f"{lost} of {len(acknowledged)} acknowledged payloads are not in the journal"


def incidents(
    jobs: Iterable[str], people: AbstractSet[str], documents: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what is wrong with the incidents of jobs that had one NaN each and trained on.

    jobs: those that sent everything. people: those whose incident a person acknowledged.
    """
    of_job: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents:
        of_job[document["job"]].append(document)
    for job in jobs:
        mine = of_job[job]
        if len(mine) != 1:
            yield f"{job}: {len(mine)} incidents in the store, expected one"
            continue
        if mine[0]["status"] != "resolved":
            yield f"{job}: its incident is {mine[0]['status']}, expected resolved"
        if job in people and mine[0]["handling"]["acknowledged"] is None:
            yield f"{job}: a person's acknowledgement is lost"


def messages(
    taken: Sequence[TakenMessage], documents: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what is wrong with the messages: one id for each change, and none missing."""
    ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    opened_by_job: dict[str, set[str]] = defaultdict(set)
    for message in taken:
        ids[message.incident, message.type].append(message.webhook_id)
        if message.type == OPENED:
            opened_by_job[message.job].add(message.webhook_id)
    for job, found in opened_by_job.items():
        if len(found) > 1:
            yield f"{job}: paged {len(found)} times under other ids"
    for document in documents:
        for type_ in (OPENED, RESOLVED):
            if type_ == RESOLVED and document["status"] != "resolved":
                continue
            found = set(ids[document["id"], type_])
            if len(found) != 1:
                yield f"{document['job']}: {type_} was sent under {len(found)} ids, expected one"
    for incident, order in _order(taken).items():
        if order[0] != OPENED or (RESOLVED in order and order[-1] != RESOLVED):
            yield f"incident {incident}: messages in the order {', '.join(order)}"


def _order(taken: Sequence[TakenMessage]) -> dict[str, list[str]]:
    """Return by incident what happened, in the order in which it was first taken."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for message in taken:
        found[message.incident].setdefault(message.webhook_id, message.type)
    return {incident: list(types.values()) for incident, types in found.items()}


def replayed(
    documents: Iterable[Mapping[str, Any]], replay: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield where the store and a replay of the journal differ: changes that were lost or made up.

    What people did after the incident was given up stands in the store alone, and is not compared.
    """
    held = {document["id"]: document for document in documents}
    again = {document["id"]: document for document in replay}
    for identity in sorted(set(held) | set(again)):
        one, other = held.get(identity), again.get(identity)
        if one is None or other is None:
            where = "the store" if one is None else "the replay of the journal"
            yield f"incident {identity} is missing in {where}"
            continue
        for name in _COMPARED:
            if one[name] != other[name]:
                yield (
                    f"incident {identity} ({one['job']}): {name} is {one[name]} in the store, "
                    f"{other[name]} in the replay"
                )


def repeats(taken: Sequence[TakenMessage]) -> int:
    """Return how many messages were taken again, under the id that they had."""
    return len(taken) - len({message.webhook_id for message in taken})
