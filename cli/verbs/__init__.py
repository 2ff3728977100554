"""The verbs of the command, in the order in which `rankscope --help` lists them.

A verb is one file here with four names, and one line in VERBS:

    HELP: str                               one line for the list of verbs
    EXTRA: str | None                       the extra whose packages `run` needs
    def add_arguments(parser) -> None       its arguments
    def run(arguments) -> int               its work; returns the exit code

A verb file imports the standard library only at its top: everything heavier is imported inside
`run`, so that `rankscope --help` works in the base install and starts fast.

In: the words behind a verb. Out: an exit code, and what the verb prints. Imports: agent, checks,
collector, dashboards, lab, settings, vocabulary; what stands below it.
"""

import argparse
import importlib
from typing import Protocol, cast

VERBS: dict[str, str] = {
    "demo": "demo",
    "agent": "agent",
    "collector": "collector",
    "replay": "replay",
    "diagnose": "diagnose",
    "incidents": "incidents",
    "explain": "explain",
    "feedback": "feedback",
    "profile": "profile",
    "bisect": "bisect",
    "webhooks": "webhooks",
    "priors": "priors",
    "offenders": "offenders",
    "report": "report",
    "tokens": "tokens",
    "check-config": "check_config",
    "doctor": "doctor",
    "check": "check",
    "lab": "lab",
    "dashboards": "dashboards",
    "mcp": "mcp",
}
"""Name of the verb as typed -> name of its module in this package."""

SERVING = frozenset({"agent", "collector", "mcp"})
"""Verbs that run until they are stopped."""

LOADING = frozenset({"diagnose", "doctor"})
"""Verbs that make hundreds of classes before they do anything."""


class CliVerb(Protocol):
    """What a verb's module offers."""

    HELP: str
    EXTRA: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the verb's work and return the exit code."""
        ...


def load(name: str) -> CliVerb:
    """Return the module of a verb, imported now."""
    return cast("CliVerb", importlib.import_module(f".{VERBS[name]}", __package__))
