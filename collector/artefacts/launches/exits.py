"""How each rank ended first, by what launchers say of it.

A launcher says who ended in the order in which it noticed. It may name a survivor: PaddlePaddle
3.3.1 the rank that lost its peer, DeepSpeed 0.19.8 the process that it started last. So who logged
that a peer was gone is no culprit.
"""

from collections.abc import Iterable

from .known import KnownRanks
from .record import FiledReport, LaunchRecord
from .verdicts import LaunchVerdict

ASKED = (-15, -2, -1)
SIGKILL = 9
ABORTED = -6
"""What a rank does to itself that lost a peer: watchdogs, JAX and gloo's exceptions end so."""

RankExit = tuple[int | None, FiledReport]
"""The code by which a rank ended, negative for a signal, and who said so."""
RankExits = dict[int, RankExit]


def gather(
    record: LaunchRecord, ends: Iterable[FiledReport], known: KnownRanks, verdict: LaunchVerdict
) -> RankExits:
    """Return by rank how it ended first; a launcher's guess only where nothing says better."""
    places = verdict.places
    exits: RankExits = {}
    guesses: list[FiledReport] = []
    unnamed: list[FiledReport] = []
    for one in ends:
        report = one.report
        if report.form.kind == "node":
            continue
        ranks = places.ranks(one)
        if not known.listed.keys().isdisjoint(ranks):
            continue
        if report.form.kind == "verdict":
            guesses.append(one)
        elif not ranks and report.form.kind == "exit":
            unnamed.append(one)
        for rank in ranks if report.form.kind != "verdict" else ():
            vague = rank in exits and exits[rank][0] is None
            if rank not in exits or (vague and report.form.kind != "raised"):
                exits[rank] = (report.code, one)
    listed = exits.keys() | known.listed.keys()
    killed = [one for one in unnamed if (one.report.code or 0) < 0]
    if killed and not (guesses or listed) and places.alone():
        exits[places.first_rank] = (killed[0].report.code, killed[0])
    elif guesses or unnamed:
        _guess(exits, guesses, unnamed, record, known, verdict)
    elif listed and listed <= known.cut and known.fewer_silent:
        said = [one for _, one in exits.values()][:1]
        exits |= {rank: (None, one) for one in said for rank in known.silent}
    return exits


def _guess(
    exits: RankExits,
    guesses: list[FiledReport],
    unnamed: list[FiledReport],
    record: LaunchRecord,
    known: KnownRanks,
    verdict: LaunchVerdict,
) -> None:
    """Add who ended by reports that name nobody, or perhaps somebody else."""
    ranks = verdict.places.ranks
    first = (guesses or unnamed)[0]
    own = known.roots or (frozenset(known.silent) if known.fewer_silent else frozenset())
    named = {rank for one in guesses for rank in ranks(one)}
    if known.roots and not (named & known.roots):
        named -= known.cut
    chosen = (own - exits.keys()) if own and not named & own else (named & own or named)
    if own and chosen <= known.cut:
        chosen = own
    asked = record.of_kind("asked")
    if not own and len(asked) > 1 and first.report.form.name.startswith("deepspeed."):
        verdict.guesses |= chosen
        verdict.missing.append(
            "which rank failed: the launcher names the process that it started last, rank "
            + ", ".join(map(str, sorted(chosen)))
        )
    for one in guesses:  # survivors that the launcher named ended too
        for rank in ranks(one):
            exits.setdefault(rank, (one.report.code, one))
    for rank in sorted(chosen):
        code = first.report.code
        if code == ABORTED and rank not in named:
            code = None
        exits.setdefault(rank, (code, first))
