"""What the gradients of a suspicious step say, layer by layer; in the sender's thread."""

import math
from collections.abc import Sequence

from ..vocabulary.samples import Scalar
from . import weights
from .step_record import LayerGradient

ALONE = 30.0
"""Times all other elements of all gradients together that a single one has to be: a gradient is
made of sums over tokens, and what enlarges one element enlarges others of its row."""
_NAMED = 3


def described(gradients: Sequence[LayerGradient]) -> dict[str, Scalar]:
    """Return attributes of an event.

    gradient_groups: how many groups of layers there are; gradient_bad: those that have values that
    are not finite, in the order of the model, and how many; else gradient_norms: the largest with
    their norms. element: a single one that is larger than all others together, element_group, and
    element_others: the norm of those.
    """
    groups: dict[str, float] = {}
    bad: list[str] = []
    for one in gradients:
        group = _group(one)
        groups[group] = math.hypot(groups.get(group, 0.0), one.norm)
        if one.bad and group not in bad:
            bad.append(group)
    found: dict[str, Scalar] = {"gradient_groups": len(groups)}
    if bad:
        # What is not finite flows from the loss to the input: the last of them had it first.
        return found | {"gradient_bad": len(bad), "gradient_bad_last": bad[-1]}
    largest = sorted(groups.items(), key=lambda item: -item[1])[:_NAMED]
    found["gradient_norms"] = " ".join(f"{name}={norm:.3g}" for name, norm in largest)
    odd = max(gradients, key=lambda one: one.largest)
    of_it = math.sqrt(max(odd.norm**2 - odd.largest**2, 0.0))
    # The square of a huge number hides all that is beside it in its own tensor.
    others = math.hypot(of_it if of_it > 1e-6 * odd.norm else 0.0, *(
        one.norm for one in gradients if one is not odd
    ))  # fmt: skip
    if odd.largest > ALONE * others > 0.0:
        found |= {"element": odd.largest, "element_group": _group(odd)}
        found["element_others"] = others
    return found


def _group(gradient: LayerGradient) -> str:
    return weights.group_of(gradient.name) if "." in gradient.name else gradient.name
