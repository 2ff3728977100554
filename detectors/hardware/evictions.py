"""Hosts that the scheduler took away from the job."""

import re
from collections.abc import Sequence

from ...vocabulary import entities
from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report
from ..tenants import text_of
from ..window import JobWindow

REASON = re.compile(
    r"evict|pre-?empt|node.?(?:not.?ready|pressure|drain|shutdown|delet)|taint|reclaim|"
    r"spot|drain|cordon|(?:disk|memory|pid).?pressure|maintenance",
    re.IGNORECASE,
)
"""Reasons of schedulers that take a host, and not the whole job, away."""

_LIMIT = re.compile(r"time.?limit|wall.?time|deadline.?exceeded", re.IGNORECASE)
"""Reasons of schedulers whose time for the job was up."""

LOST = re.compile(r"node.?(?:lost|fail|down|not.?responding)", re.IGNORECASE)
"""Reasons that say of a host itself that it failed or does not answer."""

DIED = frozenset({"kernel.panic", "host.rebooted", "host.overheated"})
"""Signatures of kernels that stopped, or were started while the job ran."""


class EvictionsDetector(Detector):
    """Report scheduler events that take one of the job's hosts away.

    By the reason of `scheduler.event`, from the host itself or naming it. Evidence: the symptom is
    that processes of the host ended, or that it fell silent. An event that is about every host of
    the job is a stop that somebody wanted. A host that failed by the scheduler's word, as Slurm's
    NodeFail, or whose own kernel says that it stopped, is a symptom of its own: nothing else may
    tell of it. So it is where no rank is known
    to run there, if the event is the job's.

    Parameters
    ----------
    None.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> pairs = {"reason": "Evicted", "text": "The node was low on resource: memory"}
    >>> event = Event("scheduler.event", START + 50, pairs, TelemetryResource("host-1", "example"))
    >>> window = sketch(np.full((4, 60), 0.8), events=(event,))
    >>> [finding.text for finding in EvictionsDetector().evaluate(window)]
    ['host host-1 was taken away: Evicted: The node was low on resource: memory']

    Fails where the scheduler's events are not passed on: then its processes just end.

    References: Kubernetes, node-pressure eviction and taints; Slurm, node states.
    """

    name = "evictions"
    kinds = ("host.taken", "host.reported_lost")

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host, the first event of each."""
        found: dict[str, Finding] = {}
        failed: dict[str, Finding] = {}
        for event in window.events:
            if event.at < window.attempt_started_at:
                continue
            if _died(event) and (host := event.resource.host) in window.hosts:
                failed.setdefault(host, _failed(window, event, host))
            if event.name != "scheduler.event":
                continue
            reason, text = _reason_of(event), text_of(event).strip()
            found_in = window.searches.found
            lost = found_in(LOST, event, _reason_of)
            if not (
                lost
                or found_in(_LIMIT, event, _reason_of)
                or any(found_in(REASON, event, read) for read in (_reason_of, text_of))
            ):
                continue
            host = event.resource.host
            named = [name for name in window.hosts if name in text.split()]
            host = named[0] if named else host
            if lost and host and (host in window.hosts or event.resource.job == window.job):
                failed.setdefault(host, _failed(window, event, host))
            if lost or host not in window.hosts or host in found:
                continue
            found[host] = report(
                window,
                self.name,
                "host.taken",
                window.topology.host_entity(host),
                onset=event.at,
                signal="scheduler.event",
                observed=reason,
                text=f"host {host} was taken away: {reason}: {text[:160]}".rstrip(": "),
            )
        everyone = len(window.hosts) > 1 and len(found) == len(window.hosts)
        return [*failed.values(), *([] if everyone else found.values())]


def _reason_of(event: Event) -> str:
    return str(event.attributes.get("reason", ""))


def _died(event: Event) -> bool:
    return event.name == "log.fault" and event.attributes.get("signature") in DIED


def _failed(window: JobWindow, event: Event, host: str) -> Finding:
    own = _died(event)
    reason = str(event.attributes.get("signature" if own else "reason", ""))
    text = text_of(event).strip()
    return report(
        window,
        EvictionsDetector.name,
        "host.reported_lost",
        window.topology.host_entity(host) if host in window.hosts else entities.host(host),
        onset=event.at,
        score=3.0,
        signal=event.name,
        observed=reason,
        text=f"host {host} failed by its {'kernel' if own else 'scheduler'}: {text[:160]}".rstrip(
            ": "
        ),
    )
