"""Detectors as somebody else would write them: a good one, and one for each thing to get wrong."""

import sys
import threading
import warnings
from dataclasses import replace

import numpy as np

from rankscope.detectors.contract import Detector
from rankscope.detectors.findings import report

COMPUTE = "training.compute.duration"


class Good(Detector):
    """Reports ranks that compute ten times as long as the fastest.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.full((4, 20), 0.8)
    >>> own[2] *= 20
    >>> [finding.entity.id for finding in Good().evaluate(sketch(own))]
    ['2']

    Fails where compute is not reported.
    """

    name = "good"
    kinds: tuple[str, ...] = ("rank.slow_compute",)
    signal = COMPUTE

    def evaluate(self, window):
        if not window.steps.has(COMPUTE):
            return []
        own = window.steps.plane(COMPUTE)
        mean = own[:, -20:].mean(axis=1)
        return [
            self.found(window, window.rank_entity(row))
            for row in np.flatnonzero(mean > 10 * mean.min())
        ]

    def found(self, window, entity, **changed):
        held = {"onset": window.now - 1, "text": "it is slow", "signal": self.signal, **changed}
        return report(window, self.name, self.kinds[0], entity, **held)


class Quiet(Good):
    """Would report what is in no window, and its example shows none either.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> Quiet().evaluate(sketch(np.full((4, 20), 0.8)))
    []

    Fails always.
    """

    name = "quiet"

    def evaluate(self, window):
        return []


class Typing(Quiet):
    __doc__ = Quiet.__doc__

    def evaluate(self, window):
        window.of_hosts("system.shm.usge")
        return []


class Nameless(Detector):
    kinds = ("job.slow",)

    def evaluate(self, window):
        return []


class Nothing:
    name = "nothing"
    kinds = ("job.slow",)


class Idle(Detector):
    name = "idle"
    kinds = ("job.slow",)


class OneKind(Good):
    kinds = "job.slow"  # type: ignore[assignment]


class Demanding(Good):
    def __init__(self, threshold):
        self.threshold = threshold


class Stateful(Quiet):
    def __init__(self):
        self.count = 0

    def evaluate(self, window):
        self.count += 1
        return []


class Locked(Quiet):
    def __init__(self):
        self.lock = threading.Lock()


class Tuned(Quiet):
    """Its attribute has another name than its parameter."""

    def __init__(self, least=1.0):
        self.threshold = least


class Raising(Quiet):
    def evaluate(self, window):
        return [] if window.steps.has("training.loss") else [1 / 0]


class Strange(Quiet):
    kinds = ("rank.unheard_of",)


class NamingKinds(Quiet):
    kinds = ("rank.of_mine",)
    finding_kinds = ("rank.of_mine",)


class Namesake(Quiet):
    name = "stalls"


class Past(Quiet):
    def next_due(self, window):
        return window.now


class Never(Quiet):
    def next_due(self, window):
        return None


class Hasty(Quiet):
    cadence_seconds = None  # type: ignore[assignment]


class Undocumented(Quiet):
    """Nothing."""


class Boasting(Quiet):
    """Its example says what is not so.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> len(Boasting().evaluate(sketch(np.full((4, 20), 0.8))))
    1

    Fails never.
    """


class Misspelt(Quiet):
    """Its example does not run.

    Examples
    --------
    >>> Mispelt().evaluate(None)
    []

    Fails never.
    """


class Crooked(Quiet):
    """Its example cannot be read.

    Examples
    --------
    >>>1 + 1
    2

    Fails never.
    """


class Printing(Quiet):
    def evaluate(self, window):
        sys.stdout.write(f"{len(window.ranks)} ranks\n")
        return []


class Warned(Quiet):
    def evaluate(self, window):
        warnings.warn("all is empty", RuntimeWarning, stacklevel=1)
        return []


class Writing(Quiet):
    def evaluate(self, window):
        window.steps.at[:] = 0
        return []


class WritingFeatures(Quiet):
    def evaluate(self, window):
        window.features.step_ends[:] = 0
        return []


class Forgetful(Quiet):
    def evaluate(self, window):
        if len(window.ranks) > 1:
            return None
        return []


class Yielding(Quiet):
    def evaluate(self, window):
        yield self.found(window, window.entity)


class Texts(Quiet):
    def evaluate(self, window):
        return ["the job is slow"]


class Random(Quiet):
    def evaluate(self, window):
        entity = window.rank_entity(0) if len(window.ranks) else window.entity
        return [self.found(window, entity, score=np.random.default_rng().random())]


class ByRow(Quiet):
    """Accuses whoever comes first."""

    def evaluate(self, window):
        return [self.found(window, window.rank_entity(0))] if len(window.ranks) else []


class Always(Quiet):
    """Reports the job, whatever happens, with what one of the classes below changes."""

    kinds = ("job.slow",)
    changed: dict[str, object] = {}  # noqa: RUF012  the classes below replace it
    of_finding: dict[str, object] = {}  # noqa: RUF012

    def evaluate(self, window):
        made = self.found(window, window.entity, **self.changed)
        return [replace(made, **self.of_finding)]


class NoNumber(Always):
    changed = {"score": float("nan")}  # noqa: RUF012


class Endless(Always):
    changed = {"onset": float("-inf")}  # noqa: RUF012


class Negative(Always):
    changed = {"score": -1.0}  # noqa: RUF012


class Textless(Always):
    changed = {"text": " "}  # noqa: RUF012


class Signalless(Always):
    changed = {"signal": "training.step.duraton"}  # noqa: RUF012


class OtherKind(Always):
    of_finding = {"kind": "job.stalled"}  # noqa: RUF012


class OtherName(Always):
    of_finding = {"detector": "bad"}  # noqa: RUF012


class OtherJob(Always):
    of_finding = {"attempt": 7}  # noqa: RUF012


class Missing(Always):
    of_finding = {"magnitude": None}  # noqa: RUF012


class Prophet(Always):
    def evaluate(self, window):
        return [self.found(window, window.entity, onset=window.now + 100)]


class Backwards(Always):
    def evaluate(self, window):
        onset = (window.now - 10, window.now - 30)
        return [self.found(window, window.entity, onset=onset, seen=onset)]


class AboutAHost(Always):
    def evaluate(self, window):
        return [self.found(window, window.host_entity(0))] if window.hosts else []
