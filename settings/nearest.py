"""The fix for an unknown key: the known key it is nearest to, or the list of all."""

import difflib
from collections.abc import Callable, Sequence

from pydantic import BaseModel

MANY = 12
"""Keys listed at most; more would bury the message."""


def known_or_nearest(
    name: str,
    model: type[BaseModel],
    above: Sequence[str],
    *,
    spell: Callable[[Sequence[str]], str] = ".".join,
) -> str:
    """Return the fix for an unknown key of a model: what it may have been meant to be.

    `above` is the path to the model, `spell` writes a whole path as the operator has to.
    """
    known = list(model.model_fields)
    near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {spell([*above, near[0]])}?"
    if not known:
        return "remove it: there are no keys here"
    listed = ", ".join(known[:MANY]) + (", ..." if len(known) > MANY else "")
    return f"remove it; known keys here: {listed}"
