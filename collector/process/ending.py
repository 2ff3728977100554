"""The end of the process, in time: what manages services kills what takes longer than that.

What was acknowledged is in the journal. From the signal on there are EXIT_SECONDS for all the rest,
of which evaluation leaves some for its snapshot.
"""

import faulthandler

EXIT_SECONDS = 20.0
"""Kubernetes gives 30 s. Requests, deliveries and look-ups under way have shorter limits."""
EVALUATION_SECONDS = 12.0
"""When evaluation leaves what waits to the next start, and writes its snapshot."""


def within(seconds: float = EXIT_SECONDS) -> None:
    """End this process after so long, whatever still runs, and print where each thread was.

    For what is to exit on its own before: the interpreter waits for threads of libraries without
    any limit, and what manages services would kill it in the dark.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
