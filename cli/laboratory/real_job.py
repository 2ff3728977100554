"""A real job with one fault in it, as `rankscope demo` and `rankscope lab run --real` run it."""

import importlib.util
import sys
from typing import TYPE_CHECKING

from ...lab import mechanisms

if TYPE_CHECKING:
    from ...lab.demo.stage import RemoteCollector

FAULTS = mechanisms.faults()
_PARTS_NEED = ("numpy", "psutil", "pydantic", "sqlalchemy", "uvicorn")
"""Packages of the agent and the collector, which start as processes of their own: what is missing
is named at the start rather than in a log."""


def run(
    fault: str | None,
    mechanism: str | None,
    *,
    once: bool,
    trainer: str = "auto",
    as_json: bool = False,
    elsewhere: "RemoteCollector | None" = None,
) -> int:
    """Run the job; 0 only when the injected fault is the first cause at the right place."""
    for package in _PARTS_NEED:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    chosen = _chosen(fault, mechanism)
    if chosen is None:
        ways = ", ".join(one.name for one in mechanisms.of_fault(fault or FAULTS[0]))
        print(f"rankscope demo: {fault} is injected by {ways}", file=sys.stderr)
        return 2
    from ...lab import demo  # noqa: PLC0415  heavy, and not needed for --help
    from ..report import incident_report  # noqa: PLC0415

    return demo.run(
        mechanism=chosen,
        once=once,
        trainer=trainer,
        as_json=as_json,
        out=sys.stderr if as_json else sys.stdout,
        report=incident_report,
        elsewhere=elsewhere,
    )


def _chosen(fault: str | None, mechanism: str | None) -> mechanisms.FaultMechanism | None:
    """Return what to inject; None where the mechanism is one of another fault."""
    if mechanism is None:
        return mechanisms.of_fault(fault or FAULTS[0])[0]
    found = mechanisms.named(mechanism)
    return found if fault in (None, found.fault) else None
