"""The text of the script: `recompute.py` with the plan of one step, and what is known of it."""

import pprint
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

_EMPTY = "PLAN: dict[str, Any] = {}\n"


def text(plan: Mapping[str, Any], known: Iterable[str]) -> str:
    """Return a Python script; `known`: lines of evidence, written into it as comments."""
    source = resources.files(__package__ or "").joinpath("recompute.py").read_text(encoding="utf-8")
    before, found, after = source.partition(_EMPTY)
    if not found:
        raise ValueError("recompute.py has no empty plan")
    comments = "".join(f"# {' '.join(line.split())}\n" for line in known)
    said = f"# What the collector says of this step:\n{comments}" if comments else ""
    shown = pprint.pformat(dict(plan), sort_dicts=False)
    return f"{before}{said}PLAN: dict[str, Any] = {shown}\n{after}"
