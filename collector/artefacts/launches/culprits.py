"""Which rank ended first, where a launcher's lines say the ends of several.

Who was killed goes before who ended with a code, and who lost a peer or was asked to end is last.
"""

from .exits import ABORTED, ASKED, SIGKILL, RankExit, RankExits
from .known import KnownRanks
from .record import LaunchRecord
from .verdicts import LaunchVerdict

_KILLED = (-9, -11, -7, -4, -8, None)
"""Ends that are no process's own choice; None: a launcher only saw that it was gone."""
_APART_SECONDS = 0.002
"""Ends of one burst of lines: they have an order, and one time."""
_LATER_SECONDS = 0.2
"""By how much ranks ended later that were asked to, or whose peer was gone."""
_FOLLOWED = 3


def add(
    exits: RankExits,
    record: LaunchRecord,
    known: KnownRanks,
    verdict: LaunchVerdict,
    *,
    wished: bool,
) -> None:
    """Add the ends of ranks: those of one burst of lines share one time, the culprit first."""
    if not exits:
        return
    places = verdict.places
    grades = {rank: _grade(rank, exits, record, known) for rank in exits}
    order = sorted(exits, key=lambda rank: (
        places.at(exits[rank][1]), grades[rank], exits[rank][1].report.line
    ))  # fmt: skip
    burst, begun = 0, None
    for rank in order:
        code, one = exits[rank]
        at = places.at(one)
        if begun is None or at - begun > _APART_SECONDS:
            begun, burst = at, 0
        later = _LATER_SECONDS if grades[rank] >= _FOLLOWED else 0.0
        verdict.end(rank, code, at + later + burst * _APART_SECONDS)
        burst = min(burst + 1, 20)
    killed = [
        rank for rank, (code, _) in exits.items() if code in _KILLED and grades[rank] < _FOLLOWED
    ]
    few = 0 < len(killed) < max(known.size, len(known.ranks), 2)
    first = order[0]
    if not wished and not known.hung:
        if few and first in killed and first not in verdict.guesses:
            _blame(first, exits[first], known, verdict, role="root")
        elif not known.roots and not verdict.roots:
            verdict.roots[exits[first][1].place] = first
            codes = {code for code, _ in exits.values()}
            if codes <= {*ASKED, -SIGKILL}:  # no crash: the line is no cause, but all that is known
                _blame(first, exits[first], known, verdict, role="cascade")
    failed = [rank for rank in order if (exits[rank][0] or 0) > 0]
    own = [r for r in failed if r not in known.cut and r not in verdict.guesses]
    if len(places.ranks(exits[first][1])) > 1:
        own = []  # they failed alike
    quoted = any(one.report.form.kind == "raised" for one in record.reports)
    verdict.raised = own[0] if own and not killed and not quoted else None


def _blame(
    rank: int, end: RankExit, known: KnownRanks, verdict: LaunchVerdict, *, role: str
) -> None:
    """Add a launcher's line about who was killed as the line of the cause."""
    one = end[1]
    form = one.report.form
    if form.kind == "verdict" and rank in known.cut:
        return
    host = verdict.places.host_of(rank)
    verdict.blame(one, "log.fault", host, rank, signature=form.name, role=role)


def _grade(rank: int, exits: RankExits, record: LaunchRecord, known: KnownRanks) -> int:
    """Return how likely a rank is the first of a burst, the lowest most."""
    code, _ = exits[rank]
    if rank in known.roots:
        return 0
    if rank in known.cut:
        return 5
    if code in ASKED or _followed(rank, exits, record):
        return 4
    if code == ABORTED:
        return _FOLLOWED
    return 1 if code is None or code < 0 else 2


def _followed(rank: int, exits: RankExits, record: LaunchRecord) -> bool:
    """Tell whether a launcher had asked what was left to end, since another had ended."""
    one = exits[rank][1]
    first = min(end.report.line for _, end in exits.values() if end.file == one.file)
    asked = (each.report.line for each in record.of_kind("asked", "follows")
             if each.file == one.file and each.report.line > first)  # fmt: skip
    return one.report.line > min(asked, default=one.report.line)
