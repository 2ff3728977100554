"""Losses and norms of parts of a training which are not finite: a critic's beside its actor's.

A line has one loss and one norm that count. Parts that are trained beside it, with an optimizer of
their own or a share of the loss, go wrong alone: what stands finite in the line says nothing of
them. A mean over samples that a batch may lack (a domain's, a task's) is no such part.
"""

import re

_WRITTEN = re.compile(
    r"""(?i)(?<![\w/.-])(?P<name>[a-z_][\w./-]*(?: [a-z]+)?)['"]?\s{0,4}[:=]\s{0,4}['"]?"""
    r"""(?:[a-z_][\w.]*\()?(?P<value>[-+]?(?:nan|inf(?:inity)?))(?![\w.])"""
)
_VALUE = re.compile(r"""(?i)[:=]\s{0,4}['"]?(?:[a-z_][\w.]*\()?[-+]?(?:nan|inf)""")
"""What every such value has: most lines have none, and `number of nan iterations`."""
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+")
_MEASURES = frozenset({"loss", "norm", "gnorm"})
_PARTS = frozenset({
    "actor", "critic", "policy", "value", "vf", "pg", "ppo", "kl", "entropy", "reward", "generator",
    "discriminator", "gen", "disc", "g", "d", "act", "cri",
})  # fmt: skip
_OTHERS = frozenset({
    "val", "eval", "valid", "validation", "test", "dev", "std", "var", "min", "max", "param",
})  # fmt: skip
"""Words of values that are another thing's, or need no be finite."""


def nonfinite(text: str) -> dict[str, str]:
    """Return the values that are not finite by the names of parts, as the text has them."""
    if _VALUE.search(text) is None:
        return {}
    return {
        found["name"]: found["value"]
        for found in _WRITTEN.finditer(text)
        if _of_part(found["name"])
    }


def _of_part(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    return bool(words & _MEASURES) and bool(words & _PARTS) and not words & _OTHERS
