"""What tests read of a page, and how they make it narrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DRAWN = "document.querySelector('.panel figure .frame[data-drawn] canvas')"
"""There once the plot of an incident is drawn."""


def text(browser: Any, selector: str) -> str:
    """Return the text of the first element that matches, once there is one with a text."""
    return str(browser.wait(f"document.querySelector({selector!r})?.innerText"))


def rows(browser: Any, selector: str = "main tbody tr:not(.group)") -> list[list[str]]:
    """Return the cells of every row that matches, once there is one."""
    script = (
        "(all => all.length && all.map(row => [...row.cells].map(cell => cell.innerText.trim())))"
        f"([...document.querySelectorAll({selector!r})])"
    )
    return list(browser.wait(script))


@contextmanager
def narrow(browser: Any) -> Iterator[None]:
    """Show pages as wide as a phone's."""
    browser.size(390, 844)
    try:
        yield
    finally:
        browser.size(1440, 900)


def similar(**more: Any) -> dict[str, Any]:
    """Return a past incident as the collector lists it."""
    entity = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [2, 3]}
    said = {"by": "ann", "verdict": "correct", "fault": None, "note": "it was the cable"}
    row = {"id": "a1", "fault": "host.cpu_contention", "entity": entity, "jobs": ["run-1"],
           "reasons": ["same cause"], "opened_at": 1795183000, "feedback": [said],
           "resolved": None}  # fmt: skip
    return {**row, **more}
