"""All regular expressions of the program: those of its modules and those of its tables."""

import contextlib
import gc
import importlib
import pkgutil
import re
from collections.abc import Iterator

from tests.fuzzing.decoders import DECODERS

from rankscope import agent, alerts, collector, detectors, formats, vocabulary
from rankscope.vocabulary.patterns import DeferredPattern

_PACKAGES = (agent, alerts, collector, detectors, formats, vocabulary)


def found() -> dict[str, re.Pattern[str] | re.Pattern[bytes]]:
    """Return them by their text, where it is written as the key; all tables are loaded for it."""
    patterns: dict[str, re.Pattern[str] | re.Pattern[bytes]] = {}
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations." not in module.name and not module.name.endswith("__main__"):
                held = vars(importlib.import_module(module.name))
                for pattern in _below([*held.values()], 3):
                    patterns.setdefault(str(pattern.pattern), pattern)
    for decoder in DECODERS:
        for seed in decoder.seeds():
            with contextlib.suppress(*decoder.refusals):
                decoder.read(seed)
    gc.unfreeze()  # what was there when the tests were collected (tests/conftest.py) counts too
    for held in gc.get_objects():
        if type(held) is DeferredPattern:
            patterns.setdefault(held.pattern, held.compiled)
    return patterns


def _below(held: object, depth: int) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(held, re.Pattern):
        yield held
    elif depth and isinstance(held, list | tuple | dict):
        for inner in held.values() if isinstance(held, dict) else held:
            yield from _below(inner, depth - 1)
