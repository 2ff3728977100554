"""One rank's dump: its groups, how far it is in each, and the operations still in the recorder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...vocabulary.groups import ProcessGroup
from .. import names
from . import numbering
from .loading import LoadError, load

_NANOSECONDS = 1e-9
_RANK = re.compile(r"[0-9]+")
_COUNTED = re.compile(r"[0-9]{1,18}")
_WHOLE = re.compile(r"-?\d{1,19}")
_MOST_RANKS = 1_000_000
_LONGEST_SHAPE, _LONGEST_FRAME = 400, 300


class DumpError(ValueError):
    """A dump that cannot be read; its text says why."""


@dataclass(frozen=True, slots=True)
class GroupCounters:
    """The last collective of a group that this rank enqueued and completed; -1 before the first."""

    enqueued: int
    completed: int


@dataclass(frozen=True, slots=True)
class RecorderEntry:
    """One operation, as the recorder noted it.

    `group` is the group it ran in, `sequence` its number there (of its own count for sends and
    receives), `op` its kind without the library's name (`all_reduce`), `shape` the sizes and types
    that go in and come out. `created` and `completed` are seconds since the epoch, None when not
    known; the second is polled ten times a second. `timeout` is in seconds, 0 when not known.
    """

    group: ProcessGroup
    sequence: int
    op: str
    shape: str
    created: float | None
    completed: float | None
    done: bool
    timeout: float
    p2p: bool
    frames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecorderDump:
    """What one rank's recorder held. `groups` are those that the rank is a member of.

    nameless: groups of which the dump does not say who is in them, with torch's name and the
    description. lost: entries have places of their own, of which the first were lost: see members.
    """

    version: str
    library: str
    groups: tuple[ProcessGroup, ...]
    counters: Mapping[ProcessGroup, GroupCounters]
    entries: Sequence[RecorderEntry]
    nameless: Mapping[ProcessGroup, tuple[str, str]] = field(
        default_factory=dict[ProcessGroup, tuple[str, str]]
    )
    lost: bool = False

    def shifted(self, by: Mapping[ProcessGroup, int | None]) -> "RecorderDump":
        """Return it with the places of each group moved; a group that is moved by None is left out.

        Sends and receives keep theirs.
        """
        kept = {group: moved for group, moved in by.items() if moved is not None}
        return replace(
            self,
            counters={
                group: GroupCounters(counts.enqueued + kept[group], counts.completed + kept[group])
                for group, counts in self.counters.items()
                if group in kept
            },
            entries=[
                one if one.p2p else replace(one, sequence=one.sequence + kept[one.group])
                for one in self.entries
                if one.p2p or one.group in kept
            ],
            lost=False,
        )

    def interrupted(self) -> "RecorderDump":
        """Return it without the completion of the last operation, where nobody saw it complete."""
        last = self.entries[-1] if self.entries else None
        if last is None or last.completed is not None or not last.done or last.p2p:
            return self
        counters = dict(self.counters)
        held = counters.get(last.group)
        if held is not None and held.completed >= last.sequence:
            counters[last.group] = GroupCounters(held.enqueued, last.sequence - 1)
        return replace(
            self, counters=counters, entries=(*self.entries[:-1], replace(last, done=False))
        )


def read(body: bytes) -> RecorderDump:
    """Return a dump from its pickle or JSON. Raises DumpError."""
    try:
        loaded = load(body)
    except LoadError as error:
        raise DumpError(str(error)) from error
    if not isinstance(loaded, dict) or "pg_config" not in loaded:
        raise DumpError("no Flight Recorder dump: it has no pg_config")
    fields = _mapping(loaded)
    status = _mapping(fields.get("pg_status"))
    rows: Sequence[Mapping[str, Any]] = [_mapping(row) for row in _sequence(fields.get("entries"))]
    groups = _groups(_mapping(fields.get("pg_config")), status, rows)
    lost = False
    if not status:
        rows, lost = _renumbered(rows)
    entries = [entry for row in rows if (entry := _entry(row, groups)) is not None]
    counters = _status(groups, status, rows) if status else _progress(entries)
    return RecorderDump(
        version=str(fields.get("version", "")),
        library=str(fields.get("nccl_version") or fields.get("comm_lib_version") or ""),
        groups=tuple(groups.all),
        counters=counters,
        entries=entries,
        nameless=groups.nameless,
        lost=lost,
    )


def _status(
    groups: "_RankGroups", status: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[ProcessGroup, GroupCounters]:
    """Return how far the rank is in each group, as its recorder counts it."""
    by_operation = numbering.counts_operations(rows)
    found: dict[ProcessGroup, GroupCounters] = {}
    for number, group in groups.by_number.items():
        counts = _counters(_mapping(status.get(number)))
        if by_operation:
            numbers = [
                (_whole(row.get("op_id"), 0), _whole(row.get("collective_seq_id"), 0))
                for row in rows
                if str(row.get("pg_id")) == number and row.get("is_p2p") is not True
            ]
            if any(operation <= 0 for operation, _ in numbers):
                found[group] = counts  # of a torch that numbers no operations
                continue
            enqueued = numbering.of_operation(numbers, counts.enqueued)
            completed = numbering.of_operation(numbers, counts.completed)
            if enqueued is None or completed is None:
                continue
            counts = GroupCounters(enqueued, completed)
        found[group] = counts
    return found


def _progress(entries: Sequence[RecorderEntry]) -> dict[ProcessGroup, GroupCounters]:
    """Return how far the rank is in each group by its entries alone."""
    found: dict[ProcessGroup, GroupCounters] = {}
    for one in entries:
        if one.p2p:
            continue
        held = found.get(one.group, GroupCounters(one.sequence - 1, one.sequence - 1))
        in_order = one.done and held.completed == held.enqueued
        found[one.group] = GroupCounters(
            max(held.enqueued, one.sequence), one.sequence if in_order else held.completed
        )
    return found


def _renumbered(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], bool]:
    """Return the entries of a recorder without status in order, numbered within their groups.

    And whether older ones were lost. Numbers that are those of the groups already stay.
    """
    plain = sorted(map(dict, rows), key=lambda row: _whole(row.get("record_id"), 0))
    for row in plain:
        row["is_p2p"] = row.get("is_p2p") is True or _kind(row) in numbering.P2P
    numbers = [(_named(row)[0], _whole(row.get("collective_seq_id"), -1)) for row in plain]
    if not numbering.one_counter(numbers):
        return plain, False
    called = [None if row["is_p2p"] else _named(row)[0] for row in plain]
    for row, ordinal in zip(plain, numbering.ordinals(called), strict=True):
        row["collective_seq_id"] = ordinal
    return plain, min(number for _, number in numbers) > 1


@dataclass(frozen=True, slots=True)
class _RankGroups:
    """The groups of a rank in the order in which they were made, by torch's name and by number.

    Names and numbers are local to the process. Counters are kept under numbers that only entries
    explain, and entries of complete operations are often left out; numbers and names are both given
    in the order in which groups are made. gloo's recorder gives its group no name.
    """

    all: list[ProcessGroup]
    by_name: Mapping[str, ProcessGroup]
    by_number: Mapping[str, ProcessGroup]
    nameless: Mapping[ProcessGroup, tuple[str, str]]

    def of(self, row: Mapping[str, Any]) -> ProcessGroup | None:
        """Return the group of an entry, None where nothing says who is in it."""
        name = _named(row)[0]
        if self.nameless:
            return self.by_number.get(str(row.get("pg_id")))
        return self.by_name.get(name) or self.by_number.get(str(row.get("pg_id")))


def _groups(
    config: Mapping[str, Any], status: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> _RankGroups:
    if set(config) == {""} and (named := _of_entries(rows)):
        return _nameless(config, named)
    called, numbers = sorted(config, key=_made), sorted(status, key=_made)
    number_of = dict(zip(called, numbers, strict=True)) if len(called) == len(numbers) else {}
    described: dict[str, str] = {}
    for row in rows:
        name, desc = _named(row)
        described.setdefault(str(row.get("pg_id")), desc)
        if name in config:
            number_of[name] = str(row.get("pg_id"))
    found: dict[str, ProcessGroup] = {}
    for name in called:
        row = _mapping(config[name])
        ranks = _ranks(row.get("ranks"))
        desc = names.shown(row.get("desc") or described.get(number_of.get(name, ""), ""))
        # Of several with the same members and description the second is called `...#2`: they are
        # made in the same order on every member.
        alike = sum(g.ranks == ranks and g.desc.split("#")[0] == desc for g in found.values())
        found[name] = ProcessGroup(f"{desc}#{alike + 1}" if alike else desc, ranks)
    by_number = {number: found[name] for name, number in number_of.items() if number in status}
    return _RankGroups(list(found.values()), found, by_number, {})


def _of_entries(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return by number torch's name and the description of each group that entries name."""
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        name, desc = _named(row)
        if name != "?":
            found.setdefault(str(row.get("pg_id")), (names.shown(name), names.shown(desc)))
    return found


def _nameless(config: Mapping[str, Any], named: Mapping[str, tuple[str, str]]) -> _RankGroups:
    """Return the groups of a recorder that describes one without a name: gloo's.

    Its members are those of the group that was made first, while it was the only one.
    """
    ranks = _ranks(_mapping(config[""]).get("ranks"))
    if len(named) == 1 and ranks:
        ((number, (_, desc)),) = named.items()
        group = ProcessGroup(desc, ranks)
        return _RankGroups([group], {"": group}, {number: group}, {})
    by_number = {
        number: ProcessGroup(f"{desc} {name}", ()) for number, (name, desc) in named.items()
    }
    nameless = {group: named[number] for number, group in by_number.items()}
    return _RankGroups(list(by_number.values()), {}, by_number, nameless)


def _named(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return torch's name and the description of an entry's group."""
    pair = [str(part) for part in _sequence(row.get("process_group"))]
    return (pair[0], pair[1]) if len(pair) > 1 else ("?", "")


def _made(name: str) -> tuple[int, str]:
    return (int(name), name) if _COUNTED.fullmatch(name) else (1 << 60, name)


def _ranks(value: Any) -> tuple[int, ...]:
    """Return the members: torch writes them as text, `[0, 1, 2]`."""
    texts = _RANK.findall(value) if isinstance(value, str) else _sequence(value)
    if len(texts) > _MOST_RANKS:
        raise DumpError(f"a group of {len(texts)} ranks")
    return tuple(sorted({int(text) for text in texts if _COUNTED.fullmatch(str(text))}))


def _counters(counts: Mapping[str, Any]) -> GroupCounters:
    return GroupCounters(
        _whole(counts.get("last_enqueued_collective"), -1),
        _whole(counts.get("last_completed_collective"), -1),
    )


def _entry(row: Mapping[str, Any], groups: _RankGroups) -> RecorderEntry | None:
    """Return an entry, or None where its group is not known or its number no number."""
    group = groups.of(row)
    p2p = row.get("is_p2p") is True
    sequence = _whole(row.get("p2p_seq_id" if p2p else "collective_seq_id"), -1)
    if group is None or sequence < 0:
        return None
    done = row.get("retired") is True or row.get("state") == "completed"
    return RecorderEntry(
        group=group,
        sequence=sequence,
        op=_kind(row),
        shape=names.printable(
            f"{row.get('input_sizes')} {row.get('input_dtypes')} -> "
            f"{row.get('output_sizes')} {row.get('output_dtypes')}",
            _LONGEST_SHAPE,
        ),
        created=_seconds(row.get("time_created_ns")),
        completed=_seconds(row.get("time_discovered_completed_ns")),
        done=done,
        timeout=max(0.0, _whole(row.get("timeout_ms"), 0) / 1000),
        p2p=p2p,
        frames=tuple(_frame(_mapping(frame)) for frame in _sequence(row.get("frames"))),
    )


def _kind(row: Mapping[str, Any]) -> str:
    """Return the kind of an operation without the library's name, such as `all_reduce`."""
    name = str(row.get("profiling_name", "")).partition(":")[2]
    return names.kind(name.strip("_").split(" ")[0])


def _frame(frame: Mapping[str, Any]) -> str:
    text = f"{frame.get('name', '?')} ({frame.get('filename', '?')}:{frame.get('line', '?')})"
    return names.printable(text, _LONGEST_FRAME)


def _seconds(value: Any) -> float | None:
    whole = _whole(value, 0)
    return whole * _NANOSECONDS if whole > 0 else None


def _whole(value: Any, default: int) -> int:
    """Return a whole number; the JSON form writes some as text."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return _whole(int(value), default)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        return default
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        return {}
    pairs: dict[Any, Any] = value
    return {str(key): each for key, each in pairs.items()}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
