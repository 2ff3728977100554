"""The agent's own log: one JSON object a line on standard error, text where a terminal reads it.

The keys are those of the collector's log (timestamp, level, event, logger), so that one pipeline
reads both. Written with the standard library: the collector's structlog would cost the agent 2 MB.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO


def configure(stream: TextIO | None = None) -> None:
    """Send every record from INFO on to a stream, standard error unless given."""
    target = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(target)
    handler.setFormatter(TextFormatter() if target.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """One object a record; `exception` holds the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        line = {
            "timestamp": _timestamp(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """The same for people: time with its zone, level, logger, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with a traceback below where there is one."""
        line = f"{_timestamp(record)} {record.levelname.lower():<7} {record.name}: "
        line += record.getMessage()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _timestamp(record: logging.LogRecord) -> str:
    """Return the record's time as RFC 3339 in UTC, with microseconds."""
    at = datetime.fromtimestamp(record.created, tz=UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
