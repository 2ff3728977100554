"""Digests of weights by groups of layers, as the probe sends them: "NAME=HASH NAME=HASH ..."."""

from collections.abc import Iterable

_MOST_NAMED = 3


def where(held: Iterable[str]) -> tuple[str, int]:
    """Return the groups of layers in which digests differ, in words, and how many these are."""
    layers = [_layers(one) for one in held]
    names = layers[0]
    parts = [name for name in names if len({layer.get(name) for layer in layers}) > 1]
    more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    named = ", ".join(parts[:_MOST_NAMED]) + more
    return f"{named} ({len(parts)} of {len(names)} groups of layers)", len(parts)


def _layers(digests: str) -> dict[str, str]:
    found = (part.partition("=") for part in digests.split())
    return {name: digest for name, _, digest in found}
