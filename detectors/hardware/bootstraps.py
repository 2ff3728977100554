"""Hosts whose ranks could not reach the others while the job was starting."""

import re
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import first_line, report
from ..tenants import own_logs, says, signature_of, text_of
from ..window import JobWindow

SIGNATURE = re.compile(
    r"bootstrap|rendezvous|(?:tcp)?store.*(?:time|connect|refused)|connect(?:ion)?.?(?:refused|timed|"
    r"timeout|unreachable|failed)|no.?route|socket.*(?:connect|interface)|remote.?peer",
    re.IGNORECASE,
)
"""What log signatures of ranks that cannot reach each other are called, and what they write."""

LOCAL = re.compile(
    r"no (?:\w+ )?(?:socket )?interface|no usable|no such device|permission|bind\w* failed",
    re.IGNORECASE,
)
"""What a rank writes that finds no way out of its own host; the others then wait for it in vain."""


_DEVICE = re.compile(r"^(?:gpu|cuda)\.")
"""How signatures begin of what a rank says of its own device."""

TOGETHER_SECONDS = 60.0
"""Who gives up so much later than the first, and names nobody, has waited for those before."""

OTHERS = re.compile(r"clients_missing|key_missing")
"""Signatures of who waited at the store for somebody else: they accuse nobody."""


class BootstrapsDetector(Detector):
    """Name the host that others cannot reach, or that cannot reach them, before the first step.

    By signatures and texts of logs, while no rank has finished a step. A line that finds no way out
    of its own host accuses that host, and only such lines count where there are any; one that names
    another host of the job accuses that one. The host that most lines accuse counts; the others
    logged what follows from it. But who alone of three hosts or more does not reach another one is
    accused itself once `hold` is over: the rest reached it. Lines that only say that somebody did
    not come accuse the host that logged them where no other host logs any within `hold`; where
    several do, one member is missing for all of them, and nothing says that a network is why. Who
    gives up minutes after the first, and names nobody, waited for it. A symptom: without its groups
    the job does not start.

    Parameters
    ----------
    hold : seconds given to the lines of other hosts.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> lines = tuple(Event("log.fault", START + 20 + rank, {
    ...     "signature": "nccl.bootstrap_timeout", "role": "root", "rank": rank,
    ...     "text": "connect to host-1<40123> timed out"}, TelemetryResource(host, "example"))
    ...     for rank, host in ((0, "host-0"), (4, "host-2")))
    >>> window = sketch(np.zeros((6, 0)), hosts=3, now=START + 30, events=lines)
    >>> [(str(found.entity), found.magnitude) for found in BootstrapsDetector().evaluate(window)]
    [('host host-1', 2.0)]

    Fails where logs are not read, where addresses in their place of names say who is meant, and
    where one host gives up, and ends the job, long before the others that do not reach it either.

    References: NCCL, bootstrap and NCCL_SOCKET_IFNAME; Aegis (most failing tasks fail at start).
    """

    name = "bootstraps"
    kinds = ("host.bootstrap_error",)

    def __init__(self, *, hold: float = 5.0) -> None:
        self.hold = hold

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding: the host that most lines accuse."""
        if _steps(window):
            return []
        lines = _lines(window)
        local = [line for line in lines if LOCAL.search(text_of(line))]
        alone = None if local else _alone(window, lines)
        if not local and not self._accuse(window, lines, alone):
            return []
        lines = local or lines
        accused: dict[str, list[Event]] = {}
        for event in lines:
            host = alone or _accused(window, event)
            if host is not None:
                accused.setdefault(host, []).append(event)
        if not accused:
            return []
        host = min(accused, key=lambda name: (-len(accused[name]), accused[name][0].at, name))
        events = accused[host]
        most = 2 * len(events) > sum(len(held) for held in accused.values())
        first = events[0]
        said = first.attributes.get("text") or first.attributes.get("signature")
        line = first_line(said) or "no text"
        return [
            report(
                window,
                self.name,
                "host.bootstrap_error",
                window.topology.host_entity(host),
                onset=first.at,
                magnitude=float(len(events)),
                score=3.0 if most and alone is None else 2.0,
                signal="log.fault",
                observed=signature_of(first),
                text=(
                    f"{len(events)} ranks could not reach host {host}: {line}"
                    if alone is None
                    else f"of {len(window.hosts)} hosts only {host} does not reach another: {line}"
                ),
            )
        ]

    def next_due(self, window: JobWindow) -> float:
        """Return when the lines of other hosts have been waited for."""
        if _steps(window):
            return np.inf
        due = min((line.at for line in _lines(window)), default=np.inf) + self.hold
        return due if due > window.now else np.inf

    def _accuse(self, window: JobWindow, lines: Sequence[Event], alone: str | None) -> bool:
        """Tell whether lines that are not about their own host say which one is not reached."""
        hosts = {line.resource.host for line in lines}
        elsewhere = any(_accused(window, line) != line.resource.host for line in lines)
        if elsewhere and alone is None:
            return True
        if len(hosts) != 1 or len(window.hosts) < 2:
            return False
        return window.now >= min(line.at for line in lines) + self.hold


def _steps(window: JobWindow) -> bool:
    """Tell whether the attempt has ended steps: one may be the last of the attempt before."""
    return int(np.isfinite(window.features.step_ends).sum()) > 1


def _lines(window: JobWindow) -> list[Event]:
    """Return the log lines of ranks that did not reach others, consequences only where alone.

    None where a rank says that its device failed: the others lost it for that.

    One that only goes with such errors stands in logs of starts that succeeded too.
    """
    return window.features.once(_lines, lambda: _found(window)) if window.events else []


def _found(window: JobWindow) -> list[Event]:
    if any(_of_its_device(event) for event in own_logs(window)):
        return []
    lines = [
        event
        for event in own_logs(window)
        if says(window, event, SIGNATURE)
        and event.attributes.get("role") != "confirmation"
        and not OTHERS.search(signature_of(event))
    ]
    lines = [line for line in lines if line.attributes.get("role") != "cascade"] or lines
    since = min((line.at for line in lines), default=0.0)
    return [
        line
        for line in lines
        if line.at <= since + TOGETHER_SECONDS or _accused(window, line) != line.resource.host
    ]


def _of_its_device(event: Event) -> bool:
    """Tell whether a rank gave up since its device, or the device's memory, failed."""
    signature = signature_of(event)
    return event.attributes.get("role") == "root" and _DEVICE.match(signature) is not None


def _alone(window: JobWindow, lines: Sequence[Event]) -> str | None:
    """Return the only host of three or more that logs such lines, None where there are several."""
    hosts = {line.resource.host for line in lines}
    return (
        min(hosts)
        if len(hosts) == 1 and len(window.hosts) > 2 and hosts & {*window.hosts}
        else None
    )


def _accused(window: JobWindow, event: Event) -> str | None:
    """Return the host that a line accuses: another one that it names, else its own."""
    text, own = text_of(event), event.resource.host
    named = [
        host
        for host in window.hosts
        if host != own
        and host in text
        and re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", text)
    ]
    if named:
        return named[0]
    return own if own in window.hosts else None
