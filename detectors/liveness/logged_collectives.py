"""What ranks log of a collective that times out or does not match, and who logs nothing of it."""

import re
from collections import Counter, defaultdict

from ...vocabulary.equal_sizes import equal_size
from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import APART, AWAITED, ENDS
from ..tenants import own_logs, says, text_of
from . import stops
from .collective_signs import OTHER_COLLECTIVE, fresh
from .stall_signs import StalledWindow

_TIMED_OUT = re.compile(
    r"(?:\[Rank (\d+)\]\s+)?Watchdog caught .{0,40}Work\w*\(SeqNum=(\d+), OpType=(\w+)"
    r"(?:, (?:NumelIn=(\d+), NumelOut=(\d+)|TensorShape=(\[[\d, ]*\])))?",
    re.IGNORECASE,
)
"""The watchdog of PyTorch: what its own rank waited in. It names the rank inside the group."""

_EQUAL_SHAPES = re.compile(r"_?(?:ALLREDUCE(?:_COALESCED)?|BROADCAST|REDUCE|BARRIER)")
"""Kinds of which every member's tensor has the same shape."""

_OWN_NUMBERS = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "BATCH_ISEND_IRECV"})
"""Kinds that each member numbers by itself."""

_FEW = 8
"""So many ranks are named together where no majority tells who is right."""

_GROUP = re.compile(r"\[PG ID \d+ PG GUID ([^\]]{1,200}?) Rank \d+\]", re.IGNORECASE)
_NUMBER = re.compile(r"detected by watchdog at work(?: sequence id)?: (\d+)", re.IGNORECASE)
"""What the line behind it names: the group, and the same number."""

_MISMATCH = re.compile(
    r"Rank (\d+) is running (?:inconsistent )?collective: "
    r"\w+\((?:SequenceNumber=(\d+), ?)?OpType=(\w+)(?:, TensorShape=(\[[\d, ]*\]))?",
    re.IGNORECASE,
)
"""PyTorch's TORCH_DISTRIBUTED_DEBUG=DETAIL: two ranks of a line, the logging one among them."""

_CUT = re.compile(r"gloo/transport/.*(?:closed|reset) by peer|caused pair closure", re.IGNORECASE)
"""A rank whose collective of gloo lost its peers."""

_LOGGED = ("log.fault", "collective.communicator")


_Called = dict[tuple[str, int], dict[int, str]]
"""What each rank called, by group and number."""


def unlike(stall: StalledWindow) -> list[Finding]:
    """Return ranks that called another collective than their peers under one sequence number.

    Another size is another collective where all members give as much. Of three ranks or more the
    minority is blamed; of two the one that did not log the line, weakly. Where no majority tells
    who is right, that they differ is sure all the same: all are named weakly, of many the first of
    each kind. Numbers are compared inside one group; who names none is in that of all ranks, or
    left out.
    """
    called, logging = _called(stall)
    findings: dict[int, Finding] = {}
    for (_, number), of_rank in sorted(called.items()):
        odd, usual = _odd(of_rank, logging)
        for rank in odd:
            row = stall.window.row_of(rank)
            if row is None:
                continue
            text = (
                f"rank {rank} called {of_rank[rank]} as collective {number} where its peers "
                f"called {usual or _others(of_rank, rank)}"
            )
            findings[row] = stall.sign(
                row, OTHER_COLLECTIVE, "log.fault", of_rank[rank], usual or "another one",
                3.0 if usual and len(of_rank) > 2 else 2.0, text,
            )  # fmt: skip
    return [findings[row] for row in sorted(findings)] or _apart(stall)


def _apart(stall: StalledWindow) -> list[Finding]:
    """Return ranks that wait in collectives which cannot be of one sequence, by all their lines."""
    return [
        stall.sign(
            row, OTHER_COLLECTIVE, "log.fault", "other collectives", "those of its peers", 2.0, text
        )
        for row, text in _marked(stall, APART).items()
    ]  # fmt: skip


def awaited(stall: StalledWindow) -> list[Finding]:
    """Return all ranks that lines of others name as those which have not come."""
    return [
        stall.sign(
            row, "rank.behind_enqueued", "log.fault", "not there", "with its peers", 3.0, text
        )
        for row, text in _marked(stall, AWAITED).items()
    ]  # fmt: skip


def _marked(stall: StalledWindow, signature: str) -> dict[int, str]:
    """Return by row the text of what stands for all lines of this stall about a rank."""
    return {
        row: text_of(event)
        for event in own_logs(stall.window)
        if event.attributes.get("signature") == signature
        and event.at >= stall.last - stall.usual
        and (row := stall.window.row_of_event(event)) is not None
    }


def _called(stall: StalledWindow) -> tuple[_Called, set[int]]:
    """Return what each rank called by the lines of this stall, and the ranks that logged any."""
    called: _Called = defaultdict(dict)
    logging: set[int] = set()
    unnumbered: set[str] = set()
    group_of = _groups(stall)
    for event in own_logs(stall.window):
        rank, text = stops.rank_of(event), text_of(event)
        if rank is None or event.at < stall.last - stall.usual:
            continue
        differ = stall.window.searches.found(_MISMATCH, event, text_of)
        for match in _MISMATCH.finditer(text) if differ else ():
            called["", int(match[2] or 0)][int(match[1])] = _kind(match[3], match[4])
            logging.add(rank)
        late = stall.window.searches.found(_TIMED_OUT, event, text_of)
        own = _TIMED_OUT.search(text) if late else None
        if own is None:
            continue
        group = group_of.get((rank, int(own[2])), "")
        if own[3].upper() in _OWN_NUMBERS:
            unnumbered.add(group)
        if group or own[1] in (None, str(rank)):
            size = own[6] or equal_size(own[3], own[4], own[5])
            called[group, int(own[2])].setdefault(rank, _kind(own[3], size))
            logging.add(rank)
    compared = {key: each for key, each in called.items() if key[0] not in unnumbered}
    return compared, logging


def _kind(name: str, size: str | None) -> str:
    """Return a collective as it is compared: its name, and the shape that all members give."""
    kind = name.upper()
    shaped = size and (size[0] != "[" or _EQUAL_SHAPES.fullmatch(kind))
    return f"{kind} of {size}" if shaped else kind


def _odd(of_rank: dict[int, str], logging: set[int]) -> tuple[list[int], str]:
    """Return the ranks to name, and what the others called; "" where no majority did."""
    counts = Counter(of_rank.values())
    if len(counts) < 2:
        return [], ""
    usual, most = counts.most_common(1)[0]
    if 2 * most > len(of_rank):
        return [rank for rank, name in of_rank.items() if name != usual], usual
    silent = [rank for rank in of_rank if rank not in logging]
    if len(of_rank) == 2 and len(silent) == 1:
        return silent, next(name for rank, name in of_rank.items() if rank not in silent)
    first = [min(rank for rank, name in of_rank.items() if name == kind) for kind in counts]
    return sorted(of_rank) if len(of_rank) <= _FEW else sorted(first)[:_FEW], ""


def _others(of_rank: dict[int, str], rank: int) -> str:
    return " or ".join(sorted(set(of_rank.values()) - {of_rank[rank]}))


def _groups(stall: StalledWindow) -> dict[tuple[int, int], str]:
    """Return by rank and number of a collective which group its watchdog says that it was in."""
    found: dict[tuple[int, int], str] = {}
    for event in own_logs(stall.window):
        rank, text = stops.rank_of(event), text_of(event)
        found_both = all(
            stall.window.searches.found(one, event, text_of) for one in (_GROUP, _NUMBER)
        )
        if not found_both:
            continue
        group, number = _GROUP.search(text), _NUMBER.search(text)
        if rank is None or group is None or number is None:
            continue
        if "default_pg" not in group[1]:
            found[rank, int(number[1])] = group[1]
    return found


def unlogged(stall: StalledWindow) -> list[Finding]:
    """Return the few ranks that logged no time-out of a collective though most of the others did.

    Whoever waits in the collective logs that it timed out; the rank that they wait for is not in
    it. Only of ranks whose logs are read: the agent of another host may see none.
    """
    window = stall.window
    waited = {rank for event in own_logs(window)
              if event.at > stall.last
              and stops.is_time_out(window, event)
              and (rank := stops.rank_of(event)) is not None}  # fmt: skip
    read = {rank for event in window.events if event.name in _LOGGED
            and (rank := stops.rank_of(event)) is not None}  # fmt: skip
    # gloo closes its connections on a time-out, and ranks that waited too log only that.
    cut = {rank for event in own_logs(window)
           if event.at > stall.last and says(window, event, _CUT)
           and (rank := stops.rank_of(event)) is not None} if waited else set[int]()  # fmt: skip
    waited |= cut
    # Who learns of a time-out before its own has logged none, and waits as well.
    waited |= (
        {
            int(window.ranks[row])
            for group in window.groups
            for row in group.rows[fresh(stall, group) & (group.enqueued > group.completed)].tolist()
        }
        if waited
        else set()
    )
    silent = {rank for event in window.events if event.attributes.get("signature") == ENDS
              and (rank := stops.rank_of(event)) is not None}  # fmt: skip
    # Whose whole log is known to say nothing may be half of a job; of others more may come.
    lacking = sorted((silent or read) - waited)
    if not 0 < len(lacking) <= len(waited) / (1 if silent else 3):
        return []
    rows = [(rank, row) for rank in lacking if (row := window.row_of(rank)) is not None]
    return [
        stall.sign(
            row, "rank.probe_silent", "log.fault", "nothing", "time-out of a collective", 1.5,
            f"rank {rank} logged no failure of a collective, as {len(waited)} others did",
        )
        for rank, row in rows
    ]  # fmt: skip
