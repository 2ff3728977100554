"""What points at a rank while its job stands still: steps, stacks, probes, idle processes.

What its collectives say stands in collective_signs.py.
"""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import activity, medians
from ..findings import report
from ..tenants import signature_of, text_of
from ..window import Flags, Floats, Ints, JobWindow
from . import stops

AGE = "training.progress.age"
EXIT = "process.exit"
DETECTOR = "stalls"

SILENT_SECONDS = 12.0
RECEIVED_SECONDS = 8.0
"""A probe is silent after the first, and counts as received within the second."""

LACKS = 2.0
"""A probe that sends its age less often is silent after so many of its intervals."""

TOGETHER, REPORT_SECONDS = 1.5, 5.0
"""So many reporting intervals, of such a length at least while no step ends, lie at most between
the last reports of ranks that end together."""

LATE_SECONDS = 60.0
"""So long a host may send what it read later than others do."""

_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|collective|"
    r"c10d|gloo|nccl|hccl|_engine_run_backward",
    re.IGNORECASE,
)
_WAITING = re.compile(r"recv|synchronize|backward|wait|select|poll", re.IGNORECASE)
"""Words that mean a collective only where most ranks stand at the same place: locks wait too."""

_PAUSING = re.compile(r"checkpoint|torch\.save|serializ|safetensors|evaluat|validat", re.IGNORECASE)
"""Words in a stack that explain why a rank is elsewhere: it saves or evaluates."""

LOSSES_STEPS, LOSSES = 64, 0.02
"""Steps before the last one that tell how many reports of single ranks are lost a step; from so
many on the last one may be among them."""

OF_RAS = {
    "nccl.ras_missing": ("rank.probe_silent", "no answer", "an answer", 2.0),
    "torch.debug_unanswered": ("rank.probe_silent", "no answer", "an answer", 2.0),
    "nccl.ras_left": ("rank.left_loop", "outside the communicator", "a member", 2.0),
    "nccl.ras_unlike": ("rank.other_collective", "another kind", "as its peers", 3.0),
    "nccl.ras_behind": ("rank.behind_enqueued", "fewer collectives", "as many as its peers", 3.0),
}
"""Signatures of NCCL's RAS service: a rank whose process does not answer it (or torch's debug
server), and one that launched
fewer collectives than its peers in a communicator of which RAS names no other member. With the kind
of the finding, what is seen, what is usual, and how much it weighs."""

_HALTED = "process is stopped by"
"""What an agent writes in place of the stack of a process that a signal or a debugger stopped."""

_LINES = re.compile(r":\d+")


@dataclass(frozen=True, slots=True)
class StalledWindow:
    """A window whose job stands still: since when (s since the epoch), and its usual step (s)."""

    window: JobWindow
    last: float
    usual: float

    def sign(
        self,
        row: int,
        kind: str,
        signal: str,
        seen: float | str,
        usual: float | str,
        score: float,
        text: str,
    ) -> Finding:
        """Return a finding about a rank."""
        return report(
            self.window,
            DETECTOR,
            kind,
            self.window.rank_entity(row),
            onset=self.last,
            magnitude=score,
            score=score,
            signal=signal,
            observed=seen,
            expected=usual,
            text=text,
        )


def behind_in_steps(stall: StalledWindow) -> list[Finding]:
    """Return the few ranks whose last step is older than that of their peers.

    Not those whose newest report is older than the step that they lack: it has yet to arrive. Nor
    those whose agent was away since: what they did meanwhile was never reported. Nor those that say
    when their last step ended, and it is the one that they lack: its report was lost. Where nobody
    says that, and reports of single steps have been lost before, one that lacks says nothing.
    """
    window = stall.window
    at = window.steps.at
    if not at.shape[1]:
        return []
    valid = np.isfinite(at)
    newest = np.where(valid.any(axis=1), at.shape[1] - 1 - valid[:, ::-1].argmax(axis=1), -1)
    lacks = (newest < newest.max()) & (newest >= 0) & ~_awaited(stall)
    lacks &= ~_returned(window, medians.highest(at, axis=1)) & ~_lost(stall, valid, newest)
    behind = np.flatnonzero(lacks)
    if not 0 < len(behind) <= max(1, len(newest) // 3):
        return []
    index = window.steps.index
    return [
        stall.sign(
            int(row),
            "rank.behind_step",
            "training.step",
            float(index[newest[row]]),
            float(index[newest.max()]),
            2.0,
            f"rank {int(window.ranks[row])} ended step {int(index[newest[row]])} last, its "
            f"peers step {int(index[newest.max()])}",
        )
        for row in behind
    ]


def _lost(stall: StalledWindow, valid: Flags, newest: Ints) -> Flags:
    """Return [ranks], who may lack the last step only because its report was lost.

    valid: [ranks, steps], who reported which; newest: [ranks], the last one that each did.
    """
    age, at = stall.window.of_ranks(AGE).latest()
    with np.errstate(invalid="ignore"):
        told = at > stall.last
        ended: Flags = told & (at - age > stall.last - stall.usual / 2)
    before = valid[:, -1 - LOSSES_STEPS : -1]
    losses = (~before & before.any(axis=1, keepdims=True)).sum() / max(before.shape[1], 1)
    last_one = newest == newest.max() - 1
    lost: Flags = ended | (~told & last_one & (losses > LOSSES))
    return lost


def _awaited(stall: StalledWindow) -> Flags:
    """Return [ranks], whose own reports do not reach beyond the last step of the job yet."""
    window = stall.window
    found = window.rank_readings.get(AGE)
    if found is None:
        return np.zeros(len(window.ranks), bool)
    _, at = found.latest()
    late: Flags = at < stall.last + 1.0
    # A probe that is silent for long is no host that sends late.
    return late & (window.now - stall.last < LATE_SECONDS)


def left(stall: StalledWindow) -> list[Finding]:
    """Return the few ranks that left the training loop in order while the others wait for them.

    They ended, said that training is over, or say that they evaluate while they are asleep, or
    where nobody evaluates alone: by the newest event of each. Who evaluates for all is the first of
    the job or of a host, or the only one that says anything of phases. Where most of those that say
    anything evaluate, the job does.
    """
    window = stall.window
    asleep = activity.since(window, stall.last).cpu < activity.BUSY[0]
    say = {window.row_of_event(event) for event in window.named("training.phase")} - {None}
    alone = asleep | (~firsts(window) if len(say) > 1 else False)
    gone: dict[int, str] = {}
    evaluate: set[int] = set()
    for event in window.events:
        row = window.row_of_event(event)
        if row is None or event.at < stall.last - 2 * stall.usual - 2.0:
            continue
        phase = event.attributes.get("phase") if event.name == "training.phase" else None
        if phase is not None:
            (evaluate.add if phase == "eval" else evaluate.discard)(row)
        if (
            phase == "shutdown"
            or (phase == "eval" and alone[row])
            or (event.name == EXIT and event.attributes.get("exit_code") == 0)
        ):
            gone[row] = event.name
        elif phase is not None:
            gone.pop(row, None)
    if len(evaluate) > len(say) / 2 and len(say) > 1:
        gone = {row: name for row, name in gone.items() if row not in evaluate or name == EXIT}
    if not 0 < len(gone) <= len(window.ranks) / 2:
        return []
    return [
        stall.sign(
            row,
            "rank.left_loop",
            name,
            "in order",
            "in training",
            3.0,
            f"rank {int(window.ranks[row])} left the training loop in order while its peers "
            "went on",
        )
        for row, name in sorted(gone.items())
    ]


def firsts(window: JobWindow) -> Flags:
    """Return [ranks], which are the first of their host; of ranks without one the first of them."""
    first = np.full(len(window.hosts) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, window.host_of, window.ranks)
    found: Flags = window.ranks == first[window.host_of]
    return found


def _returned(window: JobWindow, ended: Floats) -> Flags:
    """Return [ranks], whose host fell silent and came back after the rank's last step."""
    if len(window.host_returned) != len(window.hosts) or not len(window.hosts):
        return np.zeros(len(window.ranks), np.bool_)
    found: Flags = (window.host_of >= 0) & (window.host_returned[window.host_of] > ended)
    return found


def stacks(stall: StalledWindow) -> dict[int, str]:
    """Return the innermost frames of each row's newest stack since the stall began."""
    window = stall.window
    found: dict[int, str] = {}
    for event in window.named("process.stack"):
        if event.at > stall.last:
            row = window.row_of_event(event)
            if row is not None:
                found[row] = _top(text_of(event))
    return found


def halted(tops: dict[int, str]) -> list[int]:
    """Return the rows whose process the kernel says is stopped: it saves and evaluates nothing."""
    return [row for row, top in tops.items() if _HALTED in top]


def pausing(tops: dict[int, str]) -> list[int]:
    """Return the rows whose stack says that they save or evaluate."""
    return [row for row, top in tops.items() if _PAUSING.search(top)]


def outside(stall: StalledWindow, tops: dict[int, str]) -> list[Finding]:
    """Return ranks whose stack is outside any collective while most others are inside one."""
    places = Counter(_LINES.sub("", top) for top in tops.values())
    usual, count = places.most_common(1)[0] if places else ("", 0)
    shared = usual if count > len(tops) / 2 else ""
    inside = {
        row: bool(_COLLECTIVE.search(top))
        or (_LINES.sub("", top) == shared and bool(_WAITING.search(top)))
        for row, top in tops.items()
    }
    elsewhere = [row for row, waits in inside.items() if not waits]
    if len(inside) < 2 or not 0 < len(elsewhere) < len(inside) / 2 + 0.5:
        return []
    return [
        stall.sign(
            row,
            "rank.outside_collective",
            "process.stack",
            tops[row][:200],
            "inside a collective",
            2.5,
            f"rank {int(stall.window.ranks[row])} is outside any collective, its peers wait in one",
        )
        for row in elsewhere
    ]


def silent(stall: StalledWindow) -> list[Finding]:
    """Return ranks whose probe fell silent while their host and most other probes report.

    Of ranks that ended together, as in a restart, the last reports lie an interval apart. While no
    step ends a probe sends its age alone, as often as it does, whatever else its host sends.
    """
    window = stall.window
    if AGE not in window.rank_readings:
        return []  # nobody would speak while no step ends
    silence = window.now - window.last_received
    interval = host_interval(window)
    own = window.rank_readings[AGE].period()
    host_silence = np.full(len(silence), np.inf)
    if len(window.hosts):
        of_host = window.now - window.host_last_received[window.host_of]
        host_silence = np.where(window.host_of >= 0, of_host, np.inf)
    received = np.maximum(RECEIVED_SECONDS, 1.7 * interval)
    speaking = np.isfinite(silence) & (silence < received)
    late = silence > np.maximum(max(SILENT_SECONDS, LACKS * own), 2.5 * interval)
    late &= ~_ended(window)
    others = float(window.last_received[speaking].max(initial=-np.inf))
    late &= window.last_received < others - TOGETHER * np.maximum(
        max(REPORT_SECONDS, own), interval
    )
    quiet = np.flatnonzero(late & (host_silence < received) & np.isfinite(silence))
    if not 0 < len(quiet) <= speaking.sum():
        return []
    return [
        stall.sign(
            int(row),
            "rank.probe_silent",
            AGE,
            float(silence[row]),
            5.0,
            2.0,
            f"the probe of rank {int(window.ranks[row])} has been silent for "
            f"{silence[row]:.0f} s while its host reports",
        )
        for row in quiet
    ]


def host_interval(window: JobWindow) -> Floats:
    """Return [ranks], how often each rank's host reports (s); 0 where that is not known."""
    if not len(window.hosts):
        return np.zeros(len(window.ranks))
    of_host = window.host_interval[window.host_of]
    return np.where((window.host_of >= 0) & np.isfinite(of_host), of_host, 0.0)


def idle(stall: StalledWindow) -> list[Finding]:
    """Return the few ranks whose process or device is far less, or more, busy than the rest."""
    window, last = stall.window, stall.last
    found: dict[int, Finding] = {}
    for metric in ("hw.gpu.utilization", "process.cpu.utilization"):
        found_here = window.rank_readings.get(metric)
        if found_here is None:
            continue
        busy = np.minimum(found_here.mean(last + 5.0, np.inf), 2.0)
        valid = np.flatnonzero(np.isfinite(busy) & ~_ended(window))
        if len(valid) < 3:
            continue
        usual = medians.middle(busy[valid])
        spread = medians.middle(np.abs(busy[valid] - usual))
        odd = valid[np.abs(busy[valid] - usual) > max(0.4, 6 * spread)]
        if not 0 < len(odd) <= max(1, len(valid) // 4):
            continue
        for row in odd:
            found.setdefault(
                int(row),
                stall.sign(
                    int(row),
                    "rank.idle_process",
                    metric,
                    float(busy[row]),
                    usual,
                    1.5,
                    f"rank {int(window.ranks[row])}: {metric} {busy[row]:.2g} during the "
                    f"stall, its peers {usual:.2g}",
                ),
            )
    return list(found.values())


def by_ras(stall: StalledWindow) -> list[Finding]:
    """Return the few ranks of which NCCL reports that they do not answer it, or are behind.

    Its own thread answers while the job's waits: that the whole process is stopped or gone, or its
    host cannot be reached.
    """
    window = stall.window
    found: dict[int, Finding] = {}
    for event in window.events:
        row = window.row_of_event(event)
        sign = OF_RAS.get(signature_of(event))
        if row is None or sign is None or event.at < stall.last - stall.usual:
            continue
        kind, seen, usual, score = sign
        text = text_of(event)
        found[row] = stall.sign(row, kind, event.name, seen, usual, score, text)
    return list(found.values()) if len(found) <= max(1.0, len(window.ranks) / 2) else []


def _ended(window: JobWindow) -> Flags:
    """Return [ranks], whose process ended: it is neither silent nor idle."""
    found: Flags = np.isin(window.ranks, sorted(stops.ended(window)))
    return found


def _top(text: str) -> str:
    """Return the innermost frames of a stack, whichever way round it is written."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and ("most recent call first" in lines[0].lower()):
        return " ".join(lines[1:5])
    return " ".join(lines[-4:])
