"""Lines of a dead job's logs that point at a fault, where nothing else shows what became of it."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary import device_faults
from ...vocabulary.entities import Entity, host
from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import BUSY_WAITING, LAST_WORDS, MEMORY_LEFT, OPEN_END
from ...vocabulary.ranks import RankSet
from ...vocabulary.samples import Event
from .. import compute_time
from ..ended_jobs import EndedJobDetector
from ..findings import INFORMATION, first_line, report
from ..tenants import guessed, own_events, signature_of
from ..window import JobWindow
from . import stops, telling
from .stops import rank_of

_OF_DEVICES = ("gpu.fault", "host.oom_kill")
_HARMLESS = ("info", "warning", "application")

_LAUNCHED = ("python.", "torchrun.", "jax.peer_lost")
"""Signatures of cascades that launchers log of what they started, and JAX of all of a job."""

_DEVICE_ERROR = "job.device_error"
_ENDED = {
    "process": "job.ended_by_error",
    "start": "job.start_refused",
    "setup": "job.start_refused",
    "device": _DEVICE_ERROR,
}
"""What lines that name no rank say of a job, by what they say has ended."""

_NO_CAUSES = frozenset({
    "nccl.ras_unequal_now", BUSY_WAITING, LAST_WORDS, MEMORY_LEFT, OPEN_END,
})  # fmt: skip
"""Signatures of what a job at work shows for a moment too, and of words that nobody knows."""


class LoggedFaultsDetector(EndedJobDetector):
    """Make a symptom of the first line that points at a fault: for the logs of a dead job only.

    In no list of detectors: a live job's error may be survived, and what became of it will show.
    Of a dead job the lines may be all that is left: a kernel log alone, one log with one fatal
    line, no rank, no step. Roots go before cascades: whoever logs a cascade waited for another, so
    it names no rank. An error of no rank that ends processes, or refuses to start one, is evidence
    about the job besides, unless a line above it says that its process waited for another. Lines
    that steps followed were survived, and those that say that somebody stopped the job are no
    fault: both are worth knowing only. What a line means in a wording that no table has is a guess,
    and counts less.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before, as steps may
        follow.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> line = Event("log.fault", START + 60.5, {"role": "root", "signature": "storage.no_space",
    ...              "text": "OSError: [Errno 28] No space left on device"})
    >>> window = sketch(np.full((2, 60), 0.8), events=[line], now=START + 61)
    >>> for finding in LoggedFaultsDetector(over=START + 60.5).evaluate(window):
    ...     print(finding.kind, finding.score, finding.text)
    job.fault_logged 2.0 storage.no_space: OSError: [Errno 28] No space left on device

    Fails where the line of the cause has no known signature: then a later one is quoted.

    Reference: roles of log lines, facts 2.5.
    """

    name = "logged_faults"
    kinds = (
        "job.fault_logged",
        "job.fault_noted",
        "job.ended_by_error",
        "job.start_refused",
        _DEVICE_ERROR,
    )

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding about the job, or the host of a line that no rank wrote."""
        lines = _pointing(window)
        if not lines:
            return []
        first = min(lines, key=lambda event: (_order(window, event), event.at))
        order = _order(window, first)
        if order == _ROOT:
            roots = (event for event in lines if _order(window, event) == _ROOT)
            first = telling.first(roots) or first
        entity, ranks = _where(window, first)
        signature = str(first.attributes.get("signature") or first.attributes.get("code") or "")
        words = [signature, first_line(first.attributes.get("text"))]
        named = ": ".join(word for word in words if word) or first.name
        seen = (first.at, max(event.at for event in lines))
        symptom = report(
            window,
            self.name,
            "job.fault_logged" if order < _SURVIVED else "job.fault_noted",
            entity,
            onset=first.at,
            seen=seen,
            magnitude=float(len(lines)),
            score=2.0 if order < _SURVIVED else INFORMATION,
            signal=first.name,
            observed=signature,
            text=named,
            ranks=ranks,
        )
        meant = _meant(window, first)
        above = () if meant == _DEVICE_ERROR else lines[: lines.index(first)]
        waited = any(_waited(event) for event in above)
        if order != _ROOT or ranks or waited or not meant:
            return [symptom]
        return [
            symptom,
            report(
                window,
                self.name,
                meant,
                window.entity,
                onset=first.at,
                seen=seen,
                score=_GUESS if guessed(first) else _KNOWN,
                signal=first.name,
                observed=signature,
                text=named,
            ),
        ]


_ROOT, _CASCADE, _SURVIVED = range(3)
_KNOWN, _GUESS = 3.0, 1.0
"""Scores of what a line means: of a known wording, and of one whose words say so only."""


def _meant(window: JobWindow, event: Event) -> str:
    """Return the kind of what a line says of its job, "" where it says nothing."""
    if event.name == "gpu.fault":
        vendor = str(event.attributes.get("vendor", ""))
        code = str(event.attributes.get("code", ""))
        programs = device_faults.find(vendor, code).fault_class == "application"
        return "job.ended_by_error" if programs else ""
    ended = str(event.attributes.get("ended", ""))
    if ended == "setup" and stops.stepped(window):
        return ""  # it trained, and its device went away
    return _ENDED.get(ended, "")


def _pointing(window: JobWindow) -> list[Event]:
    """Return lines that are a fault's, or follow from one."""
    return [
        event
        for event in own_events(window)
        if (event.name in _OF_DEVICES and event.attributes.get("class") not in _HARMLESS)
        or (event.name == "log.fault" and event.attributes.get("role") in ("root", "cascade"))
    ]


def _order(window: JobWindow, event: Event) -> int:
    """Return how much a line says of why the job is dead, the lowest most."""
    if (
        event.attributes.get("signature") in _NO_CAUSES
        or stops.is_wish(window, event)
        or _followed(window, event)
    ):
        return _SURVIVED
    return _CASCADE if event.attributes.get("role") == "cascade" else _ROOT


def _followed(window: JobWindow, event: Event) -> bool:
    """Tell whether a step began after a line; of few steps, whether one ended long after it."""
    if np.isfinite(window.features.pace[0]):
        return window.features.stepped_since(event.at)
    ends = compute_time.step_ends(window.steps)
    return bool((ends > event.at + telling.TOGETHER_SECONDS).any())


def _waited(event: Event) -> bool:
    """Tell whether a line says that its process waited for another: errors below it follow."""
    signature = signature_of(event)
    return event.attributes.get("role") == "cascade" and not signature.startswith(_LAUNCHED)


def _where(window: JobWindow, event: Event) -> tuple[Entity, RankSet]:
    """Return what a line is about, and the rank that stands out by it."""
    rank, name = rank_of(event), event.resource.host
    if rank is None and name:
        return host(name, window.topology.ranks_of_host(name)), RankSet()
    waited = event.attributes.get("role") == "cascade"
    return window.entity, RankSet() if rank is None or waited else RankSet((rank,))
