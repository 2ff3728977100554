"""The collector's log: every line of it in one form, whoever wrote it."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator

import pytest
import structlog

from rankscope.collector.process import logs


@pytest.fixture
def written() -> Iterator[Callable[[], list[dict[str, str]]]]:
    """Return a function that gives the lines logged so far, as objects."""
    root, ours = logging.getLogger(), logging.getLogger("rankscope")
    before = list(root.handlers), root.level, ours.level
    stream = io.StringIO()
    logs.configure(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:], level, our_level = before
    root.setLevel(level)
    ours.setLevel(our_level)
    structlog.reset_defaults()


def test_our_events_and_the_warnings_of_libraries_have_the_same_keys(written):
    structlog.get_logger("rankscope.collector.engine").info("engine running", records=3)
    logging.getLogger("rankscope.collector.pipeline.pipeline").info("applied %d", 3)
    logging.getLogger("apscheduler").warning("late")
    keys = ("level", "event", "logger")
    assert [
        ("info", "engine running", "rankscope.collector.engine"),
        ("info", "applied 3", "rankscope.collector.pipeline.pipeline"),
        ("warning", "late", "apscheduler"),
    ] == [tuple(line[key] for key in keys) for line in written()]
    assert 3 == written()[0]["records"]


def test_times_are_rfc_3339_in_utc(written):
    logging.getLogger("rankscope").info("now")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", written()[0]["timestamp"])


def test_a_traceback_stays_on_its_line(written):
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("rankscope").exception("failed")
    (line,) = written()
    assert "ValueError: bad" in line["exception"]


def test_chatter_of_libraries_is_left_out(written):
    logging.getLogger("apscheduler").info("added job")
    assert [] == written()


def test_requests_that_are_none_make_no_lines_but_errors_of_the_server_do(written):
    server = logging.getLogger("uvicorn.error")
    server.warning("Invalid HTTP request received.")
    server.error("a defect")
    assert ["a defect"] == [line["event"] for line in written()]
