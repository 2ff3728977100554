"""The collector's own log: one event a line on standard error, JSON unless a terminal reads it.

The keys are those of the agent's log: timestamp (RFC 3339, UTC), level, event, logger, and then the
event's own. The standard library's loggers, those of libraries too, come out in the same form.
"""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor


def configure(stream: TextIO | None = None) -> None:
    """Send our events from INFO on, and the warnings of libraries, to a stream (standard error)."""
    target = sys.stderr if stream is None else stream
    shared: list[Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    rendering: list[Processor] = (
        [structlog.dev.ConsoleRenderer(timestamp_key="timestamp")]
        if target.isatty()
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("rankscope").setLevel(logging.INFO)
    # It warns of each request that is none, and anybody can send those: they are counted.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
