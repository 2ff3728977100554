"""The collector's own log: one event a line on standard error, JSON unless a person is looking."""

import logging
import sys

import structlog


def configure() -> None:
    """Send structlog's events and the warnings of libraries to standard error."""
    watched = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            *(
                [structlog.dev.ConsoleRenderer()]
                if watched
                else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
