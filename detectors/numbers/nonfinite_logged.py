"""Values that are not finite by the words of a log, where no value of a step shows it."""

import math
import re
from collections.abc import Sequence

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import LOSS_SKIPPED, SCALE_FLOOR
from ...vocabulary.samples import Event
from .. import compute_time
from ..findings import report
from ..tenants import own_logs, signature_of, text_of
from ..window import JobWindow

_SCALED = frozenset({SCALE_FLOOR, "deepspeed.loss_scale_minimum", "fairseq.loss_scale_minimum"})
_COUNTED = frozenset({SCALE_FLOOR, LOSS_SKIPPED})
"""Signatures that say how many updates in a row were skipped."""
_SIGNATURES = _SCALED | _COUNTED | {"training.loss_not_finite", "torch.anomaly_nan"}
_SAMPLES = "training.samples_not_finite"
"""Signature of a line by which samples differ that the same parameters were applied to."""
_OWN = "megatron.bad_value"
"""Signature by which a rank says that its own value is bad, before any reduction."""
_NOT_FINITE = re.compile(r"(?i)\b(?:nan|inf)\b")

_RECOVERY = 30
"""So many steps after updates that were skipped in a row they are over."""

_MOST_TRIED = 24
"""So many updates that were skipped in a row may be followed by finite steps, while a job lives."""


def said(window: JobWindow, detector: str, *, over: bool) -> list[Finding]:
    """Return the symptom that lines tell, and that the loss scale collapsed where they say so.

    over: the job is, and no step comes any more.
    """
    lines = [one for one in own_logs(window) if _says(window, one)]
    if not lines:
        return []
    newest = max(lines, key=lambda one: one.at)
    if _survived(window, newest) or not (over or _sure(newest)):
        return []
    first = min(lines, key=lambda one: one.at)
    text = text_of(first)
    said_so = f"a log says that values are not finite: {text}"
    found = [_report(window, detector, "job.nonfinite", "training.loss", lines, said_so)]
    if samples := _of_samples(window, newest):
        kind = "job.samples_nonfinite"
        which = f"some samples of a batch are not finite where others are: {text_of(samples[0])}"
        found.append(_report(window, detector, kind, "training.loss", samples, which))
    scaled = [one for one in lines if one.attributes.get("signature") in _SCALED]
    if scaled:
        kind, low = "job.loss_scale_collapse", "gradients overflow at the least loss scale"
        found.append(_report(window, detector, kind, "training.loss_scale", scaled, low))
    return [*found, *_of_rank(window, detector, lines)]


def _of_samples(window: JobWindow, newest: Event) -> list[Event]:
    """Return lines about samples which no finite loss followed: others were survived."""
    loss = window.baselines.loss.curve
    since = float(loss.at[-1]) if len(loss) else -math.inf
    return [
        one
        for one in own_logs(window)
        if signature_of(one) == _SAMPLES and since < one.at <= newest.at
    ]


def _says(window: JobWindow, line: Event) -> bool:
    """Tell whether a line says that a value is not finite."""
    signature = line.attributes.get("signature")
    own = signature == _OWN and window.searches.found(_NOT_FINITE, line, text_of)
    return signature in _SIGNATURES or own


def _of_rank(window: JobWindow, detector: str, lines: Sequence[Event]) -> list[Finding]:
    """Return whose own value it was, where lines of one rank alone say so."""
    own = [one for one in lines if one.attributes.get("signature") == _OWN]
    rows = {window.row_of_event(one) for one in own}
    row = rows.pop() if len(rows) == 1 else None
    if row is None:
        return []
    text, kind = text_of(own[0]), "rank.first_nonfinite"
    entity = window.rank_entity(row)
    return [_report(window, detector, kind, "training.loss", own, text, entity)]


def _report(
    window: JobWindow,
    detector: str,
    kind: str,
    signal: str,
    lines: Sequence[Event],
    text: str,
    entity: Entity | None = None,
) -> Finding:
    """Return a finding by some lines, about the job where nothing else is said."""
    times = [one.at for one in lines]
    return report(
        window,
        detector,
        kind,
        entity or window.entity,
        onset=min(times),
        seen=(min(times), max(times)),
        magnitude=float(len(lines)),
        score=2.0,
        signal=signal,
        observed="NaN",
        expected="finite",
        text=text,
    )


def _sure(newest: Event) -> bool:
    count = newest.attributes.get("count")
    counted = newest.attributes.get("signature") in _COUNTED
    return not counted or (isinstance(count, int) and count >= _MOST_TRIED)


def _survived(window: JobWindow, newest: Event) -> bool:
    """Tell whether steps went on after the newest line.

    While updates are skipped, steps end as well, without an update: then the next line comes before
    they are as many again.
    """
    ends = compute_time.step_ends(window.steps)
    if newest.attributes.get("signature") not in _COUNTED:
        return window.features.stepped_since(newest.at)
    count = newest.attributes.get("count")
    least = max(_RECOVERY, count if isinstance(count, int) else 0)
    return int(np.sum(ends > newest.at)) >= least
