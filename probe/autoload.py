"""RANKSCOPE_PROBE=1: attaching without a line of code, when the job makes its first optimizer.

The wheel brings `rankscope_probe.pth`, a line that Python runs at every start and that looks at
one environment variable; where it is not installed (an editable install, a zip), `python -m
rankscope.probe script.py` does the same. Waiting for an optimizer keeps the probe out of every
process that does not train: launchers, data loader workers, pip. A trainer without torch attaches
by its own call.
"""

import os
import sys
from types import ModuleType
from typing import Any

from .attaching import attach
from .importing import when_imported
from .patches import Function, LibraryPatches, UnsupportedLibraryError

_ON = {"1", "on", "true", "yes"}


def arm() -> None:
    """Attach at the job's first optimizer, if RANKSCOPE_PROBE says so; never raises."""
    if os.environ.get("RANKSCOPE_PROBE", "").strip().lower() not in _ON:
        return
    try:
        when_imported("torch", _wait_for_optimizer)
    except Exception as error:  # noqa: BLE001  the edge of somebody's interpreter
        print(f"rankscope: probe disabled: {error}", file=sys.stderr)  # noqa: T201


def _wait_for_optimizer(torch: ModuleType) -> None:
    patches = LibraryPatches()

    def attaching(original: Function) -> Function:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  the name it replaces
            patches.undo()
            attach()
            original(self, *args, **kwargs)

        return __init__

    try:
        # Replaced until the first call only: torch has no hook on an optimizer being made.
        patches.replace(torch.optim.Optimizer, "__init__", attaching)
    except (UnsupportedLibraryError, AttributeError) as error:
        print(f"rankscope: probe disabled: {error}", file=sys.stderr)  # noqa: T201
