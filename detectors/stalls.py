"""Jobs that stopped stepping, and the ranks that the others wait for."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..vocabulary.findings import Finding
from . import own_time
from .window import Floats, JobWindow

AGE = "training.progress.age"

_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|collective|"
    r"c10d|gloo|nccl|hccl|_engine_run_backward",
    re.IGNORECASE,
)
_WAITING = re.compile(r"recv|synchronize|backward|wait|select|poll", re.IGNORECASE)
"""Words that mean a collective only where most ranks stand at the same place: locks wait too."""

_LINES = re.compile(r":\d+")


class Stalls:
    """Report a job none of whose ranks has finished a step for far longer than steps take.

    The stall is measured in event time, up to the newest word of the job's own sources: a job
    whose sources are all silent is over, not stalled. Then, per communication group (pipeline
    groups left out): ranks behind in completed stopped on the device; else ranks behind in
    enqueued stopped in the process; stacks outside any collective, last steps, silent probes and
    idle processes are further signs.

    A first word comes after `least` seconds or `steps` median steps, whichever is longer, and is
    weak (score 1) as long as evaluation, a checkpoint or compilation may explain it: it gets
    strong once counters or stacks point at somebody and the wait exceeds `agreed`, or the wait is
    beyond `beyond` times the longest the job has shown, and beyond `surely`.

    Parameters
    ----------
    least, steps : the first word.
    agreed : seconds after which agreement of the counters makes it certain.
    surely : seconds after which a wait beyond anything shown is certain without agreement.
    beyond : factor over the longest gap between steps that the job has shown.
    phases : factor on every limit while a rank says it evaluates or writes a checkpoint.

    Examples
    --------
    The last step ends 60 s after the start, the probes speak on, and rank 2 has not launched the
    collective that its peers wait in.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import Group
    >>> at = START + np.arange(0, 91, 5)
    >>> group = Group("dp:1", "dp", np.arange(4), enqueued=np.array([61.0, 61, 60, 61]),
    ...               completed=np.full(4, 60.0), at=np.full(4, START + 90),
    ...               changed_at=np.full(4, START + 60))
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 90, groups=(group,),
    ...                 rank_readings={AGE: readings(at, np.zeros((4, 1)))})
    >>> for finding in Stalls().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.onset[0] - START, finding.score)
    job.stalled job example 60.0 3.0
    rank.behind_enqueued rank 2 on host-1 60.0 3.0

    Fails to name a rank where no counters, stacks or activity are reported; start-up (before the
    second step) is another detector's.

    References: facts on training signals 0.1 and 3.3 (the rule on Flight Recorder counters named
    8 of 8 culprits); Aegis (NSDI'25), C4 (HPCA'25).
    """

    name = "stalls"
    kinds = (
        "job.stalled",
        "rank.behind_enqueued",
        "rank.behind_completed",
        "rank.behind_step",
        "rank.outside_collective",
        "rank.probe_silent",
        "rank.idle_process",
    )

    def __init__(
        self,
        *,
        least: float = 9.5,
        steps: float = 2.5,
        agreed: float = 30.0,
        surely: float = 60.0,
        beyond: float = 1.5,
        phases: float = 20.0,
    ) -> None:
        self.least = least
        self.steps = steps
        self.agreed = agreed
        self.surely = surely
        self.beyond = beyond
        self.phases = phases

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom on the job and the signs on ranks; nothing while steps go on."""
        ends = own_time.step_ends(window.steps)
        ends = ends[np.isfinite(ends)]
        if len(ends) < 2:
            return []
        last = float(ends.max())
        gaps = np.diff(np.maximum.accumulate(ends))
        usual = float(np.median(gaps[-200:]))
        longest = float(gaps[2:].max()) if len(gaps) > 2 else usual
        # A phase that ended is progress as well: the first step after it has its full time.
        last = max([last, *(e.at for e in window.events if e.name == "training.phase")])
        stalled = self._spoken(window) - last
        limit = max(self.least, self.steps * usual)
        phase = _phase(window)
        if phase == "shutdown" or _all_ended(window):
            return []
        if phase in ("eval", "checkpoint", "init"):
            limit = max(limit * self.phases, self.beyond * longest)
        if stalled < limit or self._collectives_go_on(window, last, stalled):
            return []
        signs = [
            *self._behind(window, last, usual),
            *self._behind_step(window, last),
            *self._outside(window, last),
            *self._silent(window, last),
            *self._idle(window, last),
        ]
        agreed = any(sign.score >= 2 for sign in signs)
        if _paused(window, last, usual):
            # One rank may go on writing what all of them said they had written: no counter tells
            # that from being stuck, only time does.
            agreed, longest = False, max(longest, self.surely / self.beyond)
        shown = self.beyond * longest
        sure = (agreed and stalled >= max(self.agreed, 4 * usual, shown)) or (
            stalled >= max(self.surely, 10 * usual, shown)
        )
        valid = (agreed and stalled >= max(15.0, 3 * usual)) or stalled >= max(30.0, shown)
        score = 3.0 if sure else 2.0 if valid else 1.0
        symptom = Finding(
            kind="job.stalled",
            job=window.job,
            attempt=window.attempt,
            entity=window.entity,
            onset=(last, last + usual),
            magnitude=stalled,
            score=score,
            detector=self.name,
            signal=AGE,
            window=(last, last + stalled),
            observed=stalled,
            expected=usual,
            text=f"no step has ended for {stalled:.0f} s; a step usually takes {usual:.3g} s",
        )
        return [symptom, *signs]

    def _spoken(self, window: JobWindow) -> float:
        """Return the newest event time of the job's own sources that live beside its steps."""
        newest = -np.inf
        for readings in (window.of_ranks(AGE), window.of_ranks("training.rank.info")):
            newest = max(newest, _newest(readings.at))
        for metric in ("process.cpu.utilization", "process.cpu.wait", "process.memory.usage"):
            found = window.rank_readings.get(metric)
            if found is not None:
                newest = max(newest, _newest(found.at))
        for group in window.groups:
            newest = max(newest, float(np.max(group.at, initial=-np.inf)))
        if newest == -np.inf:
            for metric in ("system.cpu.utilization", "system.memory.usage"):
                found = window.host_readings.get(metric)
                if found is not None:
                    newest = max(newest, _newest(found.at))
        return newest

    def _collectives_go_on(self, window: JobWindow, last: float, stalled: float) -> bool:
        """Tell whether ranks still complete collectives: they evaluate, and no step ends."""
        moved = [float(np.max(g.changed_at, initial=-np.inf)) for g in window.groups]
        newest = [float(np.max(g.at, initial=-np.inf)) for g in window.groups]
        if not moved:
            return False
        # A move is seen up to one reporting period late.
        return max(moved) > last + 12.0 and max(newest) - max(moved) < 0.5 * stalled < 300.0

    def _sign(
        self,
        window: JobWindow,
        row: int,
        kind: str,
        signal: str,
        onset: float,
        seen: float | str,
        usual: float | str,
        score: float,
        text: str,
    ) -> Finding:
        return Finding(
            kind=kind,
            job=window.job,
            attempt=window.attempt,
            entity=window.rank_entity(row),
            onset=(onset, onset),
            magnitude=score,
            score=score,
            detector=self.name,
            signal=signal,
            window=(onset, window.now),
            observed=seen,
            expected=usual,
            text=text,
        )

    def _behind(self, window: JobWindow, last: float, usual: float) -> list[Finding]:
        """Return ranks behind in a group's counters, as reported after the stall began."""
        found: dict[int, Finding] = {}
        for group in window.groups:
            fresh = group.at > last + min(usual, 2.0)
            if group.kind == "pp" or fresh.sum() < 2:
                continue
            for name, kind, valid in (
                ("completed", "rank.behind_completed", group.completed),
                ("enqueued", "rank.behind_enqueued", group.enqueued),
            ):
                rows, best = _lowest(valid, fresh)
                for member in rows:
                    row = int(group.rows[member])
                    found.setdefault(
                        row,
                        self._sign(
                            window,
                            row,
                            kind,
                            f"collective.{name}",
                            last,
                            float(valid[member]),
                            best,
                            3.0,
                            f"rank {int(window.ranks[row])} has {name} {valid[member]:.0f} "
                            f"collectives of group {group.name}, its peers {best:.0f}",
                        ),
                    )
                if rows:
                    break
        return list(found.values())

    def _behind_step(self, window: JobWindow, last: float) -> list[Finding]:
        at = window.steps.at
        valid = np.isfinite(at)
        newest = np.where(valid.any(axis=1), at.shape[1] - 1 - valid[:, ::-1].argmax(axis=1), -1)
        behind = np.flatnonzero((newest < newest.max()) & (newest >= 0))
        if not 0 < len(behind) <= max(1, len(newest) // 3):
            return []
        index = window.steps.index
        return [
            self._sign(
                window,
                int(row),
                "rank.behind_step",
                "training.step",
                last,
                float(index[newest[row]]),
                float(index[newest.max()]),
                2.0,
                f"rank {int(window.ranks[row])} ended step {int(index[newest[row]])} last, its "
                f"peers step {int(index[newest.max()])}",
            )
            for row in behind
        ]

    def _outside(self, window: JobWindow, last: float) -> list[Finding]:
        """Return ranks whose stack is outside any collective while most others are inside one."""
        stacks: dict[int, str] = {}
        for event in window.events:
            rank = event.attributes.get("rank")
            row = window.row_of(rank) if isinstance(rank, int) else None
            if event.name == "process.stack" and row is not None and event.at > last:
                stacks[row] = str(event.attributes.get("text", ""))
        tops = {row: _top(text) for row, text in stacks.items()}
        places = Counter(_LINES.sub("", top) for top in tops.values())
        usual, count = places.most_common(1)[0] if places else ("", 0)
        shared = usual if count > len(stacks) / 2 else ""
        inside = {
            row: bool(_COLLECTIVE.search(top))
            or (_LINES.sub("", top) == shared and bool(_WAITING.search(top)))
            for row, top in tops.items()
        }
        outside = [row for row, waits in inside.items() if not waits]
        if len(inside) < 2 or not 0 < len(outside) < len(inside) / 2 + 0.5:
            return []
        return [
            self._sign(
                window,
                row,
                "rank.outside_collective",
                "process.stack",
                last,
                tops[row][:200],
                "inside a collective",
                2.5,
                f"rank {int(window.ranks[row])} is outside any collective, its peers wait in one",
            )
            for row in outside
        ]

    def _silent(self, window: JobWindow, last: float) -> list[Finding]:
        """Return ranks whose probe fell silent while their host and most other probes speak."""
        silence = window.now - window.last_received
        speaking = np.isfinite(silence) & (silence < 8.0)
        host_silence = (
            np.where(
                window.host_of >= 0, window.now - window.host_last_received[window.host_of], np.inf
            )
            if len(window.hosts)
            else np.full(len(silence), np.inf)
        )
        quiet = np.flatnonzero((silence > 12.0) & (host_silence < 8.0) & np.isfinite(silence))
        if not 0 < len(quiet) <= speaking.sum():
            return []
        return [
            self._sign(
                window,
                int(row),
                "rank.probe_silent",
                AGE,
                last,
                float(silence[row]),
                5.0,
                2.0,
                f"the probe of rank {int(window.ranks[row])} has been silent for "
                f"{silence[row]:.0f} s while its host speaks",
            )
            for row in quiet
        ]

    def _idle(self, window: JobWindow, last: float) -> list[Finding]:
        """Return the few ranks whose process or device is far less, or more, busy than the rest."""
        found: dict[int, Finding] = {}
        for metric in ("hw.gpu.utilization", "process.cpu.utilization"):
            readings = window.rank_readings.get(metric)
            if readings is None:
                continue
            busy = np.minimum(readings.mean(last + 5.0, np.inf), 2.0)
            valid = np.flatnonzero(np.isfinite(busy))
            if len(valid) < 3:
                continue
            usual = float(np.median(busy[valid]))
            spread = float(np.median(np.abs(busy[valid] - usual)))
            odd = valid[np.abs(busy[valid] - usual) > max(0.4, 6 * spread)]
            if not 0 < len(odd) <= max(1, len(valid) // 4):
                continue
            for row in odd:
                found.setdefault(
                    int(row),
                    self._sign(
                        window,
                        int(row),
                        "rank.idle_process",
                        metric,
                        last,
                        float(busy[row]),
                        usual,
                        1.5,
                        f"rank {int(window.ranks[row])}: {metric} {busy[row]:.2g} during the "
                        f"stall, its peers {usual:.2g}",
                    ),
                )
        return list(found.values())


def _lowest(valid: Floats, fresh: np.ndarray) -> tuple[list[int], float]:
    """Return the members that are behind, and where the others are; nobody if most are behind."""
    known = np.flatnonzero(np.isfinite(valid) & fresh)
    if len(known) < 2:
        return [], 0.0
    best = float(valid[known].max())
    behind = [int(member) for member in known if valid[member] < best]
    return (behind, best) if len(behind) <= len(known) / 2 else ([], best)


def _newest(at: Floats) -> float:
    valid = at[np.isfinite(at)]
    return float(valid.max()) if len(valid) else -np.inf


def _phase(window: JobWindow) -> str:
    """Return the phase that matters: shutdown if every rank said so, else any long-lived one."""
    phases: dict[object, str] = {}
    for event in window.events:
        if event.name == "training.phase":
            phases[event.attributes.get("rank")] = str(event.attributes.get("phase", ""))
    counts = Counter(phases.values())
    if counts["shutdown"] and counts["shutdown"] >= len(phases):
        return "shutdown"
    for phase in ("checkpoint", "eval", "init"):
        if counts[phase]:
            return phase
    return "train"


def _paused(window: JobWindow, last: float, usual: float) -> bool:
    """Tell whether somebody evaluated or wrote a checkpoint just before the stall."""
    since = last - max(5.0, 3 * usual)
    return any(
        event.name == "training.phase"
        and event.attributes.get("phase") in ("eval", "checkpoint")
        and event.at >= since
        for event in window.events
    )


def _all_ended(window: JobWindow) -> bool:
    """Tell whether every rank's process ended: nobody is left to be stuck."""
    ended = {
        event.attributes.get("rank") for event in window.events if event.name == "process.exit"
    }
    return bool(len(window.ranks)) and set(window.ranks.tolist()) <= ended


def _top(text: str) -> str:
    """Return the innermost frames of a stack, whichever way round it is written."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and ("most recent call first" in lines[0].lower()):
        return " ".join(lines[1:5])
    return " ".join(lines[-4:])
