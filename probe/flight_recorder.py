"""torch's Flight Recorder, read for every group: last collective enqueued, started, completed.

Asked every five seconds from the sender's thread, for the counters only (some 40 us); the list of
operations, which maps torch's local group numbers to groups, only when an unknown number
appears, and once when a rank is inside the same collective in two readings: then its kind is sent
as well, as the number of collectives launched up to it, so that peers in another one can be told
apart. A torch without the recorder, or with its buffer switched off, yields nothing.
"""

import json
import math
import sys
from typing import Any

from ..vocabulary.groups import ProcessGroup
from ..vocabulary.samples import Sample, Scalar, attributes
from .gloo_numbers import GlooNumbers
from .groups import GroupInfos

_SOON_SECONDS, _LATEST_SECONDS = 4.0, 60.0
"""Between two readings of the whole list while a group stays unknown: doubling from the first."""

COUNTERS = (
    ("collective.enqueued", "last_enqueued_collective"),
    ("collective.started", "last_started_collective"),
    ("collective.completed", "last_completed_collective"),
)
UNKNOWN_KIND = "?"
_GLOO = "_dump_fr_trace_json"
_DUMPS = ("_dump_nccl_trace_json", _GLOO)


class RecorderReader:
    """Reads the recorder of the torch that the job imported."""

    def __init__(self) -> None:
        self._groups: dict[str, ProcessGroup] = {}
        self._map_due = -math.inf
        self._map_pause = _SOON_SECONDS
        self._infos = GroupInfos()
        self._inside: dict[str, tuple[int, str]] = {}
        """Of each group: the collective this rank is inside, and its kind, "" before it is read."""
        self._numbers = GlooNumbers(key for _, key in COUNTERS)

    def samples(self, at: float, rank: int) -> list[Sample]:
        """Return the counters of every known group, and the groups themselves when due."""
        dist = sys.modules.get("torch.distributed")
        if dist is None or not getattr(dist, "is_initialized", bool)():
            return []
        found: list[Sample] = []
        for name in _DUMPS:
            dump = getattr(sys.modules.get("torch._C._distributed_c10d"), name, None)
            if dump is None:
                continue
            status = json.loads(dump(includeCollectives=False)).get("pg_status") or {}
            if not status:
                continue
            whole = _WholeList(dump)
            self._learn(dist, whole, status, at)
            if name == _GLOO and self._groups:
                status = self._numbers.comparable(status, whole.entries, at)
            found += self._counters(status, at, rank)
            found += self._launches(whole, status, at, rank)
        return found + self._infos.due(self._groups.values(), at, rank)

    def _counters(self, status: dict[str, Any], at: float, rank: int) -> list[Sample]:
        found: list[Sample] = []
        for number, counts in status.items():
            group = self._groups.get(number)
            if group is None:
                continue
            pairs: dict[str, Scalar] = {
                "rank": rank,
                "group": group.name,
                "source": "flight_recorder",
            }
            labels = attributes(pairs)
            for metric, key in COUNTERS:
                value = int(counts.get(key, -1))
                if value >= 0:
                    found.append(Sample(metric, float(value), at, labels))
        return found

    def _launches(
        self, whole: "_WholeList", status: dict[str, Any], at: float, rank: int
    ) -> list[Sample]:
        """Return the kind of each collective that this rank was inside at the last reading too."""
        found: list[Sample] = []
        for number, counts in status.items():
            last, group = int(counts.get(COUNTERS[0][1], -1)), self._groups.get(number)
            waits = last > int(counts.get(COUNTERS[2][1], -1)) >= 0
            before, kind = self._inside.get(number, (-1, ""))
            if group is None or not waits or before != last:
                self._inside[number] = (last if waits else -1, "")
                continue
            if not kind:
                kind = _kind(whole, number, last)
                self._inside[number] = (last, kind)
            if kind != UNKNOWN_KIND:
                pairs: dict[str, Scalar] = {
                    "rank": rank,
                    "group": group.name,
                    "op": kind,
                    "source": "flight_recorder",
                }
                found.append(Sample("collective.launches", float(last), at, attributes(pairs)))
        return found

    def _learn(self, dist: Any, whole: "_WholeList", status: dict[str, Any], at: float) -> None:
        if all(number in self._groups for number in status):
            return
        if 0 <= self._map_due - at <= _LATEST_SECONDS:
            return
        known = len(self._groups)
        members = _members(dist)
        for entry in whole.entries():
            number = str(entry.get("pg_id"))
            name = str((*entry.get("process_group", ()), "")[0])
            if number not in self._groups and name in members:
                self._groups[number] = members[name]
        if len(self._groups) > known:
            self._map_pause = _SOON_SECONDS
        self._map_due = at + self._map_pause
        self._map_pause = min(2 * self._map_pause, _LATEST_SECONDS)


class _WholeList:
    """The operations that a recorder holds, read when first asked for."""

    def __init__(self, dump: Any) -> None:
        self._dump = dump
        self._entries: list[dict[str, Any]] | None = None

    def entries(self) -> list[dict[str, Any]]:
        """Return all of them, oldest first."""
        held = self._entries
        if held is None:
            held = self._entries = (
                json.loads(self._dump(includeCollectives=True)).get("entries") or []
            )
        return held


def _kind(whole: "_WholeList", number: str, sequence: int) -> str:
    """Return the kind of one collective of a group, such as `all_reduce`."""
    for entry in reversed(whole.entries()):
        if str(entry.get("pg_id")) == number and entry.get("collective_seq_id") == sequence:
            return str(entry.get("profiling_name", "")).rpartition(":")[2] or UNKNOWN_KIND
    return UNKNOWN_KIND


def _members(dist: Any) -> dict[str, ProcessGroup]:
    """Return each group this process is in, by torch's local name.

    Of several groups with the same members and description the second is called `...#2`: torch
    makes groups in the same order on every member.
    """
    found: dict[str, ProcessGroup] = {}
    world = dist.distributed_c10d._world  # noqa: SLF001  no public list of groups exists
    for made, name in tuple(world.pg_names.items()):
        desc = str(getattr(made, "group_desc", "") or "")
        ranks = tuple(sorted(dist.get_process_group_ranks(made)))
        alike = sum(
            each.ranks == ranks and each.desc.split("#")[0] == desc for each in found.values()
        )
        found[str(name)] = ProcessGroup(f"{desc}#{alike + 1}" if alike else desc, ranks)
    return found
