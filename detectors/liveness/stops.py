"""Whether a job's processes ended because somebody stopped the job: a scheduler, or a person."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ...vocabulary.samples import Event, Scalar
from .. import compute_time
from ..tenants import own_events, own_logs, says
from ..window import JobWindow

SIGKILL, SIGTERM, SIGINT, SIGHUP = 9, 15, 2, 1
WISHED = (-SIGTERM, -SIGINT, -SIGHUP)
"""Signals that somebody sends who wants an end, or who closes the terminal that a job runs in."""
_STOPS = (0, *WISHED, -SIGKILL)

GRACE_SECONDS = 75.0
"""A scheduler kills what has not ended so long after SIGTERM: 30 to 60 s, and polling."""

POLLED_SECONDS = 1.5
"""Exits are seen by polling: within this time their order is not known."""

ANEW_SECONDS = 1.0
"""A process that takes another's place makes no step sooner. torchrun cuts the time of an end to
whole seconds, so that steps of the same second came before it."""

LAUNCHER_SECONDS = 10.0
"""What a launcher kills after it asked in vain to end comes later than this (torchrun: 30 s)."""

HOLD_SECONDS = 3.0
"""What looks like the first exits of a stop is given so long for the others to be seen."""

_WISHES = re.compile(
    r"pre-?empt|cancel|requeue|time.?limit|scal|drain|stop|terminat", re.IGNORECASE
)
"""Reasons of a scheduler that end a job without a fault."""

_SAID = re.compile(
    r"^(?:slurm|lsf|pbs|moab|sge|condor|flux|sagemaker|torchrun|kubernetes|kueue|submitit|"
    r"lightning|megatron)\.(?:time_limit|preempted|requeued|(?:job_|step_)?cancelled|interrupted|"
    r"stopped|pod_ended|deleted|removed)\b"
)
"""Signatures of log lines that say the same."""

_TAKES = re.compile(r"evict|node.?(?:not.?ready|lost|fail|pressure)|taint", re.IGNORECASE)
"""Reasons of a scheduler that end the processes of a host because of its state."""

_TAKES_ONE = re.compile(r"evict|pre-?empt|drain|reclaim|cordon", re.IGNORECASE)
"""Reasons that end a job where all of its hosts are asked to, and else take away the one host."""

_TIMED_OUT = re.compile(
    r"collective operation time.?out|watchdog.?time.?out|collective.{0,40}timed out|"
    r"timed out waiting \d{1,12}ms for (?:recv|send) operation|monitoredBarrier|"
    r"hccl\.notify_timeout",
    re.IGNORECASE,
)
"""What a rank logs that waited in a collective for the whole time-out, and then ends itself."""

_GIVEN_UP = re.compile(r"^(?:nccl\.ib_completion_error|(?:ucx|verbs)\.retry_exceeded)\b")
"""Signatures of a transfer that was retried for too long."""

_OWN_ENDS = (1, -6)
"""How a process ends itself that raises, or aborts."""

Outcome = Literal["stopped", "waiting", "together", "crashed"]
"""stopped: no fault. waiting: too early to tell. together: all at once, most likely stopped."""


def rank_of(event: Event) -> int | None:
    """Return the rank an event names."""
    rank = event.attributes.get("rank")
    return rank if isinstance(rank, int) and not isinstance(rank, bool) else None


def code_of(event: Event) -> int | None:
    """Return the exit code, negative for a signal (a shell's 128 + n too); None if unknown."""
    attributes: Mapping[str, Scalar] = event.attributes
    signal, code = _whole(attributes.get("signal")), _whole(attributes.get("exit_code"))
    if signal:
        return -signal
    if code is not None and 128 < code < 160:
        return 128 - code
    return code


def is_root(event: Event) -> bool:
    """Tell whether a line of a log stands for an error of its own, and not for a peer's."""
    return event.name == "log.fault" and event.attributes.get("role") == "root"


def is_wish(window: JobWindow, event: Event) -> bool:
    """Tell whether a line of a log says that a scheduler stops the job."""
    return event.name == "log.fault" and says(window, event, _SAID)


def is_stop(event: Event) -> bool:
    """Tell whether a process ended in order, or by a signal that somebody sent it."""
    return code_of(event) in _STOPS


def exits_of(window: JobWindow) -> Sequence[Event]:
    """Return the first exit of each rank, oldest first, without those that its steps follow."""
    if not window.named("process.exit"):
        return ()
    return window.features.once(exits_of, lambda: _exits_of(window))


def _exits_of(window: JobWindow) -> Sequence[Event]:
    seen: dict[int, Event] = {}
    for event in window.named("process.exit"):
        rank = rank_of(event)
        if rank is None or rank in seen:
            continue
        if event.attributes.get("role") != "dataloader" and not _stepped_after(window, rank, event):
            seen[rank] = event
    return tuple(sorted(seen.values(), key=lambda event: event.at))


def ended(window: JobWindow) -> set[int]:
    """Return the ranks whose exit was seen and is not over."""
    return {rank for event in exits_of(window) if (rank := rank_of(event)) is not None}


def after_time_out(window: JobWindow, exits: Sequence[Event]) -> bool:
    """Tell whether ranks ended since a collective timed out: the stall before it is the trouble.

    Whoever waited for the whole time-out logs that and ends itself, the rank that the others waited
    for does neither. A rank that crashed ended before its peers' time-outs.
    """
    first = min((event.at for event in exits if code_of(event) != 0), default=np.inf)
    return min(timed_out(window), default=np.inf) <= first + POLLED_SECONDS < np.inf


def after_transfer(window: JobWindow, gone: Event) -> bool:
    """Tell whether a process ended itself since a transfer was given up, and said no more.

    Who gives a transfer up does so for its peer or what lies between: it ends, and is no culprit. A
    line of no rank may be its own.
    """
    if code_of(gone) not in _OWN_ENDS:
        return False
    own = [event for event in roots(window) if rank_of(event) in (None, rank_of(gone))]
    return bool(own) and all(
        event.at <= gone.at + POLLED_SECONDS and says(window, event, _GIVEN_UP) for event in own
    )


def timed_out(window: JobWindow) -> Sequence[float]:
    """Return when ranks logged that a collective timed out, seconds since the epoch."""
    lines = own_logs(window)
    return window.features.once(timed_out, lambda: _timed_out(window, lines)) if lines else ()


def _timed_out(window: JobWindow, lines: Sequence[Event]) -> Sequence[float]:
    return [
        event.at for event in lines if rank_of(event) is not None and is_time_out(window, event)
    ]


def stepped(window: JobWindow) -> bool:
    """Return whether any step of the attempt has ended."""
    return bool(np.isfinite(compute_time.step_ends(window.steps)).any())


def is_time_out(window: JobWindow, event: Event) -> bool:
    """Tell whether a rank logged that a collective timed out."""
    return says(window, event, _TIMED_OUT)


def being_ended(window: JobWindow, last: float) -> bool:
    """Tell whether ranks ended since the last step at `last`: crashed, or asked to end just now.

    The others then wait for them, and that is no stall. Ranks that ended in order and left the
    others waiting, and ones ended by a signal longer ago than the grace period, are. So are those
    of which nobody saw how they ended: a scheduler may have asked them to.
    """
    for event in exits_of(window):
        code = code_of(event)
        if event.at < last or code == 0:
            continue
        crashed = code is not None and not is_stop(event)
        if crashed or window.now - event.at < GRACE_SECONDS:
            return True
    return False


def roots(window: JobWindow) -> list[Event]:
    """Return what tells of a fault by itself: failed devices, and errors of a rank's own."""
    return window.features.once(roots, lambda: _roots(window)) if window.events else []


def _roots(window: JobWindow) -> list[Event]:
    return [
        event
        for event in own_events(window)
        if event.name == "gpu.fault" or (is_root(event) and not is_wish(window, event))
    ]


def outcome(window: JobWindow, exits: Sequence[Event], abnormal: Sequence[Event]) -> Outcome:
    """Return how the job ended, by the exits of its ranks and the abnormal ones among them."""
    wished = [event for event in abnormal if code_of(event) in WISHED]
    if len(wished) == len(abnormal) and (
        _taken(window, abnormal[0].at) or _one_host_taken(window, exits)
    ):
        return "crashed"
    if len(wished) == len(abnormal) or _after_a_wish(window, exits, abnormal, wished):
        return "stopped"
    codes = {code_of(event) for event in abnormal}
    first, newest = abnormal[0].at, abnormal[-1].at
    if not codes <= {*WISHED, -SIGKILL, None} or newest - first > GRACE_SECONDS:
        return "crashed"
    kills = [event for event in abnormal
             if code_of(event) == -SIGKILL and event.at <= first + LAUNCHER_SECONDS]  # fmt: skip
    everywhere = len({_host_of(window, event) for event in kills}) > 1
    if _accused(window, newest) or (not everywhere and _logged(window)):
        return "crashed"
    if window.now < held_until(window, newest):
        return "waiting"
    if everywhere:
        return "stopped"  # no fault reaches the processes of several hosts with SIGKILL
    if wished:
        # A launcher that lost one process asks the others to end: a kill or two, then SIGTERMs.
        least = 2 if kills and wished[0].at <= kills[0].at else 3
        many = least <= len(kills) and len(abnormal) < 4 * len(kills)
        return "together" if many and len(window.ranks) <= len(abnormal) else "crashed"
    half = len(window.ranks) / 2 + (0.5 if codes - {None} else 0.0)
    most = len(window.ranks) if codes == {-SIGKILL} else half
    if (
        len(window.ranks) == 1
        and codes != {None}
        and (codes != {-SIGKILL} or window.world_size > 1)
    ):
        return "crashed"
    return "together" if most <= len(abnormal) else "crashed"


def wishes(window: JobWindow) -> list[float]:
    """Return when a scheduler, or most ranks themselves, announced that the job will end."""
    return window.features.once(wishes, lambda: _wishes(window)) if window.events else []


def _wishes(window: JobWindow) -> list[float]:
    announced = [
        event.at
        for event in window.events
        if _is_of_a_scheduler(window, event, _WISHES) or is_wish(window, event)
    ]
    leaving = {
        rank_of(event): event.at
        for event in reversed(window.named("training.phase"))
        if event.attributes.get("phase") == "shutdown"
    }
    if len(leaving) > len(window.ranks) / 2:
        announced.append(min(leaving.values()))
    return announced


def held_until(window: JobWindow, newest: float) -> float:
    """Return until when further exits may still come in after the newest one.

    A host that has not reported since, and does so rarely, is waited for.
    """
    quiet = window.host_last_received <= newest
    interval = np.nan_to_num(window.host_interval[quiet]).max(initial=0.0)
    return newest + HOLD_SECONDS + float(interval)


def _after_a_wish(
    window: JobWindow, exits: Sequence[Event], abnormal: Sequence[Event], wished: Sequence[Event]
) -> bool:
    """Tell whether what there is of exits follows a wish to end, as schedulers carry it out."""
    announced = wishes(window)
    began = min(announced or [event.at for event in wished], default=np.inf)
    stops = sum(is_stop(event) for event in exits)
    if not np.isfinite(began) or 2 * stops < len(exits) or _root_before(window, began):
        return False
    # Seen in one poll, a kill and the launcher's SIGTERM that follows it have no order.
    margin = 0.0 if announced else POLLED_SECONDS
    return all(
        code in WISHED
        or (code == -SIGKILL and began + margin <= event.at <= began + GRACE_SECONDS)
        or (bool(wished) and began + POLLED_SECONDS < event.at <= began + GRACE_SECONDS)
        for event in abnormal
        for code in (code_of(event),)
    )


def _taken(window: JobWindow, at: float) -> bool:
    """Tell whether a scheduler said just before `at` that it takes a host for a fault of it."""
    return any(
        -GRACE_SECONDS <= event.at - at <= POLLED_SECONDS
        and _is_of_a_scheduler(window, event, _TAKES)
        and not _is_of_a_scheduler(window, event, _WISHES)
        for event in own_events(window)
    )


def _one_host_taken(window: JobWindow, exits: Sequence[Event]) -> bool:
    """Tell whether a scheduler took a host away whose ranks ended, and those of no other with them.

    Who stops a job asks all of its hosts at once; here the others stand until they miss a peer. Not
    where steps go on without it: a job that gives a host back is as it should be.
    """
    said = [one for one in own_events(window) if one.name == "scheduler.event"]
    takes = [one for one in said if _is_of_a_scheduler(window, one, _TAKES_ONE)]
    if any(_is_of_a_scheduler(window, one, _WISHES) for one in said if one not in takes):
        return False
    ends = compute_time.step_ends(window.steps)
    newest = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
    for event in takes:
        if event.resource.host not in window.hosts:
            continue
        of_host = window.host_of == window.hosts.index(event.resource.host)
        ranks = set(window.ranks[of_host].tolist())
        here = [one.at for one in exits if rank_of(one) in ranks]
        if not here or len(here) < len(ranks) or len(ranks) == len(window.ranks):
            continue
        prompt = -POLLED_SECONDS <= here[0] - event.at <= GRACE_SECONDS
        others = min((one.at for one in exits if rank_of(one) not in ranks), default=np.inf)
        alone = others > here[-1] + HOLD_SECONDS and window.now >= held_until(window, here[-1])
        if prompt and alone and newest <= here[-1] + HOLD_SECONDS:
            return True
    return False


def _accused(window: JobWindow, at: float) -> bool:
    """Tell whether anything names a reason: the kernel, a scheduler, a device, a root log line."""
    return _root_before(window, at) or any(
        event.name == "host.oom_kill"
        or (event.name == "scheduler.event" and not _is_of_a_scheduler(window, event, _WISHES))
        for event in own_events(window)
    )


def _logged(window: JobWindow) -> bool:
    """Tell whether any rank logged an error, be it only that a peer was gone."""
    return any(rank_of(event) is not None for event in own_logs(window))


def _host_of(window: JobWindow, event: Event) -> str | None:
    row = window.row_of(rank_of(event) or 0)
    return None if row is None else window.host_name(row)


def _root_before(window: JobWindow, at: float) -> bool:
    """Tell whether a rank logged an error of its own, or a device failed, until `at`."""
    return any(event.at <= at for event in roots(window))


def _stepped_after(window: JobWindow, rank: int, event: Event) -> bool:
    """Tell whether the rank ended a step after this exit: the job was restarted."""
    row = window.row_of(rank)
    if row is None or not window.steps.at.shape[1]:
        return False
    ends = window.steps.at[row]
    newest = ends[np.isfinite(ends)]
    return bool(len(newest)) and float(newest.max()) > event.at + ANEW_SECONDS


def _is_of_a_scheduler(window: JobWindow, event: Event, pattern: re.Pattern[str]) -> bool:
    """Tell whether a scheduler says what matches a pattern."""
    return event.name == "scheduler.event" and window.searches.found(pattern, event, _reason)


def _reason(event: Event) -> str:
    return f"{event.attributes.get('reason', '')} {event.attributes.get('text', '')}"


def _whole(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
