import threading

import pytest

from rankscope.agent.reading import ReadingThread
from rankscope.agent.support_log import SupportLog
from rankscope.vocabulary.samples import Sample


class Told:
    """A reader that does as it is told."""

    ask_again: float

    def __init__(self, name, *, read=None, supported=(True, ""), period=0.02):
        self.name = name
        self.period = period
        self.reads = 0
        self._read = read
        self._supported = supported

    def supported(self):
        return self._supported

    def read(self, now):
        self.reads += 1
        if self._read:
            self._read()
        return [Sample("system.memory.usage", float(self.reads), now)]


@pytest.fixture
def support():
    """Return the answers about support, each as (reader, supported, reason), once."""
    return []


@pytest.fixture
def reading(health, support):
    started = []
    noted = SupportLog()
    noted.note = lambda reader, *, supported, reason: support.append((reader, supported, reason))  # type: ignore[method-assign]

    def start(*readers, **more):
        delivered = []
        one = ReadingThread(
            readers=readers,
            health=health,
            now=lambda: 1000.0,
            deliver=lambda reader, samples, now: delivered.append((reader.name, samples)),
            support=noted,
            **more,
        )
        one.start()
        started.append(one)
        return one, delivered

    yield start
    for one in started:
        one.stop()


def up(health) -> dict[str, float]:
    values = {measure.name: value for measure, value in health.everything(1000.0)}
    return {labels[0]: value for labels, value in values["rankscope_agent_reader_up"].items()}


def test_each_reader_has_its_own_period(reading, until):
    quick, slow = Told("quick"), Told("slow", period=60.0)
    reading(quick, slow)
    until(lambda: quick.reads > 5)
    assert slow.reads == 1


def test_a_reader_that_is_not_supported_is_not_read_and_its_reason_is_noted(
    reading, until, health, support
):
    other, absent = Told("other"), Told("absent", supported=(False, "no such device"))
    reading(absent, other)
    until(lambda: other.reads > 2)
    assert absent.reads == 0
    assert support == [("absent", False, "no such device"), ("other", True, "")]
    assert up(health) == {"other": 1.0}


def test_a_reader_that_fails_is_counted_and_read_again_and_the_others_go_on(
    reading, until, health, caplog
):
    answers = iter([OSError("broken"), OSError("broken"), None])

    def fail():
        answer = next(answers, None)
        if answer:
            raise answer

    failing, other = Told("failing", read=fail), Told("other")
    _, delivered = reading(failing, other)
    until(lambda: ("failing" in dict(delivered)) and other.reads > 5)
    assert health.counted("reader_failures", "failing", "OSError") == 2
    assert caplog.text.count("reader failing fails") == 1
    assert caplog.text.count("reader failing works again") == 1


def test_a_reader_that_hangs_is_left_behind_and_taken_in_again_when_it_returns(
    reading, until, health
):
    release, hung = threading.Event(), threading.Event()

    def hang():
        if not hung.is_set():
            hung.set()
            release.wait(60)

    hanging, other = Told("hanging", read=hang), Told("other")
    one, delivered = reading(hanging, other, stuck_seconds=0.05)
    assert hung.wait(60)
    before = other.reads
    until(lambda: one.check() or other.reads > before + 5)
    assert health.counted("reader_failures", "hanging", "hung") == 1
    assert up(health) == {"hanging": 0.0, "other": 1.0}
    assert "hanging" not in dict(delivered)
    release.set()
    until(lambda: hanging.reads > 2)
    assert up(health)["hanging"] == 1.0


def test_two_readers_that_hang_one_after_the_other_leave_the_third_alone(reading, until, health):
    release = threading.Event()
    first = Told("first", read=lambda: release.wait(60))
    second = Told("second", read=lambda: release.wait(60))
    third = Told("third")
    one, _ = reading(first, second, third, stuck_seconds=0.05)
    until(lambda: one.check() or third.reads > 5)
    assert health.counted("reader_failures") == 2
    release.set()
    until(lambda: first.reads > 2 and second.reads > 2)


def test_a_reader_says_nothing_when_it_has_nothing_to_say(reading, until, monkeypatch):
    silent = Told("silent")
    monkeypatch.setattr(silent, "read", lambda now: [])
    other = Told("other")
    _, delivered = reading(silent, other)
    until(lambda: other.reads > 3)
    assert {name for name, _ in delivered} == {"other"}


def test_a_reader_that_says_when_to_ask_again_is_asked_then(reading, until):
    late = Told("gpu", supported=(False, "the driver is not loaded"))
    late.ask_again = 0.02
    reading(late)
    late._supported = (True, "")
    until(lambda: late.reads)
