import io
import json
import logging
from datetime import UTC, datetime

import pytest

from rankscope.agent import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def root():
    """Give the root logger back as it was: pytest has handlers of its own there."""
    one = logging.getLogger()
    handlers, level = one.handlers[:], one.level
    yield
    one.handlers[:], one.level = handlers, level


def test_a_record_is_one_json_line_with_the_collectors_keys_and_a_time_in_utc():
    stream = io.StringIO()
    logs.configure(stream)
    before = datetime.now(UTC)
    logging.getLogger("rankscope.agent.push").warning("status %d,\nretried", 503)
    (text,) = stream.getvalue().splitlines()
    line = json.loads(text)
    assert ["timestamp", "level", "event", "logger"] == list(line)
    assert ("warning", "status 503,\nretried", "rankscope.agent.push") == (
        line["level"],
        line["event"],
        line["logger"],
    )
    assert line["timestamp"].endswith("Z")
    assert before <= datetime.fromisoformat(line["timestamp"]) <= datetime.now(UTC)


def test_an_exception_stays_on_its_line():
    stream = io.StringIO()
    logs.configure(stream)
    try:
        raise ValueError("a bug")
    except ValueError:
        logging.getLogger("x").exception("failed")
    (text,) = stream.getvalue().splitlines()
    assert "ValueError: a bug" in json.loads(text)["exception"]


def test_a_terminal_is_given_text_with_the_zone_in_its_time():
    stream = Terminal()
    logs.configure(stream)
    logging.getLogger("x").info("started")
    at, rest = stream.getvalue().split(" ", 1)
    assert datetime.fromisoformat(at).tzinfo is not None
    assert "info    x: started\n" == rest
