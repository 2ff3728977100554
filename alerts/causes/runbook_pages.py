"""The runbook pages that ship with this version, by fault."""

from importlib import resources
from importlib.resources.abc import Traversable


class RunbookError(Exception):
    """There is no such runbook; the text names some that there are."""


def names() -> list[str]:
    """Return the faults that have a runbook, by name."""
    return sorted(
        page.name.removesuffix(".md") for page in _folder().iterdir() if page.name.endswith(".md")
    )


def page(fault: str) -> str:
    """Return a runbook as Markdown. Raises RunbookError."""
    if fault not in names():
        family = fault.partition(".")[0]
        near = [name for name in names() if name.partition(".")[0] == family] or names()
        raise RunbookError(f"there is no runbook for {fault!r}; there are {', '.join(near)}")
    return _folder().joinpath(f"{fault}.md").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return resources.files(__package__ or "").joinpath("runbooks")
