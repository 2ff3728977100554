"""The end of the process, once everything is kept: nothing that is left may hold it up for long."""

import faulthandler

EXIT_SECONDS = 15.0
"""Requests, deliveries and look-ups that were under way end by their own time limits before."""


def within(seconds: float = EXIT_SECONDS) -> None:
    """End this process after so long, whatever still runs, and print where each thread was.

    For what is to exit on its own before: the interpreter waits for threads of libraries without
    any limit, and what manages services would kill it in the dark.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
