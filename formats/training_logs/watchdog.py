"""What ranks write that waited in a collective: for how long, in which, and how far they are.

Of the watchdogs of torch's process groups, the same for NCCL, RCCL, XCCL, HCCL and other heirs of
ProcessGroupNCCL, torch 1.13 to 2.13; of gloo, and of HCCL itself. A group is named in three forms:
`[PG 1 Rank 3]` by a number that is the process's own (2.2, 2.3), `[PG 1 (default_pg) Rank 3]`
(2.4), `[PG ID 1 PG GUID 17(TENSOR_MODEL_PARALLEL_GROUP) Rank 3]` by a number of the job (2.5 and
later). The rank in it, and that of `[Rank 3] Watchdog caught`, counts inside the group.
"""

from dataclasses import dataclass

from ...vocabulary.patterns import DeferredPattern

_TIMED_OUT = DeferredPattern(
    r"(?:\[Rank (?P<place>\d{1,7})\]\s+)?Watchdog caught collective operation timeout: "
    r"Work\w{0,8}\((?:SeqNum=(?P<seq>\d{1,18}), )?OpType=(?P<op>\w{1,40})"
    r"(?:, NumelIn=(?P<taken>-?\d{1,20}), NumelOut=(?P<given>-?\d{1,20}))?"
    r"(?:, TensorShape=\[[\d, ]*\])?"
    r"(?:, Timeout\(ms\)=(?P<timeout>\d{1,15}))?\)? ran for (?P<ran>\d{1,15}) (?:milliseconds|ms)"
)
_GROUP = DeferredPattern(
    r"\[PG (?:ID \d{1,6} PG GUID (?P<guid>[^\s(\]]{1,120})|(?P<local>\w{1,40}))"
    r" ?(?:\((?P<desc>[^)\]]{1,120})\) )?(?:Rank|rank) (?P<place>\d{1,7})\]"
)
_STATUS = DeferredPattern(
    r"(?:detected by watchdog at work(?: sequence id)?|Timeout at \w{2,8} work): "
    r"(?P<seq>-?\d{1,18})"
)
_COUNTS = DeferredPattern(
    r"[Ll]ast (?:enqueued|enstreamd)(?: \w{2,8})? work: (?P<enqueued>-?\d{1,18}), "
    r"(?:last started work: -?\d{1,18}(?: \(\w+\))?, )?"
    r"last completed(?: \w{2,8})? work: (?P<completed>-?\d{1,18})(?!\d)"
)
_TOLD = DeferredPattern(
    r"Received a (?:dump|timeout) signal (?:due to|because of)? ?(?:a collective \w+ )?from "
    r"{1,2}(?:rank (?P<by>\d{1,7})|this local rank)|Received a global timeout from another rank"
)
_WAITED = DeferredPattern(
    r"Timed out waiting (?P<ms>\d{1,12})ms for (?:recv|send) operation|(?P<hccl>Notify register "
    r"times? ?out|HCCL_EXEC_TIMEOUT)|(?P<reached>successfully reached monitoredBarrier, but)"
)
_LATE = DeferredPattern(
    r"Ranks? (?P<barrier>\d{1,7}(?:, ?\d{1,7})*) failed to pass monitoredBarrier in "
    r"(?P<ms>\d{1,12})"
    r"|\[(?P<joined>\d{1,7}(?:, ?\d{1,7})*)\] finished collective #\d{1,18}, but didn't join"
    r"|ranks \[(?P<never>\d{1,7}(?:, ?\d{1,7})*)\] are the lagging ranks"
)
"""Words of gloo's monitored barrier and of torch's desync report about the ranks waited for."""

_HCCL_SECONDS = 1836.0
"""HCCL_EXEC_TIMEOUT where nobody sets it (CANN 8)."""

_MOST_MEMBERS = 1 << 17

WORLD = "default_pg"
"""How torch describes the group of all ranks."""


@dataclass(frozen=True, slots=True)
class WatchdogReport:
    """What one line says of the rank that wrote it, and of one of its groups.

    `place`: the rank inside the group. `guid` names the group in the whole job, `local` in the
    process only; both "" where the line names none. `seq`, `op`, `size`: the collective that the
    rank waited in, with its numbers of elements. `ran`: how long, in seconds. `enqueued`,
    `completed`: numbers of the newest collectives, -1 for none. `told_by`: the rank that timed out,
    where it was another one. `late`: ranks that the line says the others waited for.
    """

    place: int | None = None
    guid: str = ""
    local: str = ""
    desc: str = ""
    seq: int | None = None
    op: str = ""
    size: str = ""
    ran: float = 0.0
    enqueued: int | None = None
    completed: int | None = None
    told_by: int | None = None
    late: frozenset[int] = frozenset()

    @property
    def members(self) -> int:
        """Return how many members the group has by the sizes of a gather or scatter, else 0."""
        taken, _, given = self.size.partition("/")
        if not given or "V" in self.op.split("_"):
            return 0
        less, more = sorted((int(taken), int(given)))
        evenly = ("ALLGATHER" in self.op or "REDUCE_SCATTER" in self.op) and less > 0
        return more // less if evenly and more % less == 0 and more // less <= _MOST_MEMBERS else 0

    @property
    def timed_out(self) -> bool:
        """Tell whether the line says that the rank waited for the whole time-out."""
        return self.ran > 0


def read(text: str) -> WatchdogReport | None:
    """Return what a line of a watchdog says, None for any other line."""
    if found := _TIMED_OUT.search(text):
        size = f"{found['taken']}/{found['given']}" if found["taken"] else ""
        return WatchdogReport(
            place=_number(found["place"]),
            seq=_number(found["seq"]),
            op=found["op"].upper(),
            size=size,
            ran=_seconds(found["ran"]),
        )
    if found := _LATE.search(text):
        late = found["barrier"] or found["joined"] or found["never"]
        ran = _seconds(found["ms"]) if found["ms"] else 0.0
        return WatchdogReport(late=frozenset(map(int, late.split(","))), ran=ran)
    if found := _WAITED.search(text):
        ran = _HCCL_SECONDS if found["hccl"] else _seconds(found["ms"] or "0")
        return WatchdogReport(ran=ran)
    counts, at, told = _COUNTS.search(text), _STATUS.search(text), _TOLD.search(text)
    group = _GROUP.search(text)
    if counts is None or (at is None and told is None):
        return None
    return WatchdogReport(
        place=_number(group["place"]) if group else None,
        guid=(group["guid"] or "") if group else "",
        local=(group["local"] or "") if group else "",
        desc=(group["desc"] or "") if group else "",
        seq=int(at["seq"]) if at else None,
        enqueued=int(counts["enqueued"]),
        completed=int(counts["completed"]),
        told_by=_number(told["by"]) if told else None,
    )


def _seconds(milliseconds: str) -> float:
    return max(int(milliseconds), 1) / 1000


def _number(written: str | None) -> int | None:
    return int(written) if written else None
