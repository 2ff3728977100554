"""A sample of mutants: drawn by a seed, and found again in a tree whose files have changed."""

import random
from collections import defaultdict
from difflib import SequenceMatcher

from .sites import PACKAGES, Mutant, Site

ALIKE = 0.7
"""Share of a line's characters that may stay for it to be the same line with a name changed."""


def draw(
    sources: dict[str, bytes], sites: dict[str, list[Site]], seed: int, count: int
) -> list[Mutant]:
    """Return `count` mutants, as many of each package as it has of the lines of code."""
    lines = {
        package: sum(
            len([line for line in source.splitlines() if line.strip()])
            for path, source in sources.items()
            if path.startswith(f"{package}/")
        )
        for package in PACKAGES
    }
    exact = {package: count * lines[package] / sum(lines.values()) for package in PACKAGES}
    shares = {package: int(share) for package, share in exact.items()}
    by_remainder = sorted(PACKAGES, key=lambda package: shares[package] - exact[package])
    for package in by_remainder[: count - sum(shares.values())]:
        shares[package] += 1
    drawn = []
    for package, share in shares.items():
        there = [one for path in sites if path.startswith(f"{package}/") for one in sites[path]]
        chance = random.Random(f"{seed} {package}")  # noqa: S311  repeatable, not secret
        chosen = chance.sample(there, min(share, len(there)))
        drawn += [site.mutant for site in chosen]
    return drawn


class Finder:
    """The sites of a tree, looked up by mutants that were drawn from an older one."""

    def __init__(self, sites: dict[str, list[Site]]) -> None:
        self._by_kind: dict[str, list[Site]] = defaultdict(list)
        for there in sites.values():
            for site in there:
                self._by_kind[site.mutant.kind].append(site)

    def find(self, mutant: Mutant) -> Site | None:
        """Return where the mutant is now, or None: it is gone, or could be in several places.

        Same line in the same function, wherever that is; then the same line once in the tree; then
        a line much like it in a function of that name.
        """
        kind = [
            one
            for one in self._by_kind[mutant.kind]
            if (one.mutant.before, one.mutant.after) == (mutant.before, mutant.after)
        ]
        same_line = [one for one in kind if one.mutant.text == mutant.text]
        name = _last(mutant)
        same_name = [one for one in same_line if _last(one.mutant) == name]
        for among in (
            [one for one in same_name if one.mutant.path == mutant.path],
            same_name,
            same_line,
        ):
            found = _one(among, mutant)
            if found is not None:
                return found
        alike = [(_alike(one.mutant, mutant), one) for one in kind if _last(one.mutant) == name]
        best = max((ratio for ratio, _ in alike), default=0.0)
        return _one([one for ratio, one in alike if ratio == best >= ALIKE], mutant)


def _one(among: list[Site], mutant: Mutant) -> Site | None:
    """Return the only site, or of several in one function the one with the ordinal."""
    if len({(one.mutant.path, one.mutant.function) for one in among}) > 1:
        exact = [one for one in among if one.mutant.function == mutant.function]
        return _one(exact, mutant) if 0 < len(exact) < len(among) else None
    return min(among, key=lambda one: abs(one.mutant.ordinal - mutant.ordinal), default=None)


def _last(mutant: Mutant) -> str:
    return mutant.function.rpartition(".")[2]


def _alike(one: Mutant, other: Mutant) -> float:
    return SequenceMatcher(None, one.text, other.text).ratio()
