"""A text is searched once for each pattern, however often it is asked about."""

import re
import time

from rankscope.detectors.event_searches import EventSearches
from rankscope.vocabulary.samples import Event


class CountedReads:
    def __init__(self):
        self.count = 0

    def __call__(self, event):
        self.count += 1
        return str(event.attributes["text"])


def test_each_event_is_read_once_for_each_pattern():
    searches, read = EventSearches(), CountedReads()
    one, other = (Event("log.fault", 1.0, {"text": text}) for text in ("a time-out", "nothing"))
    patterns = re.compile("time"), re.compile("thing")
    for _ in range(3):
        assert [True, False] == [searches.found(each, one, read) for each in patterns]
        assert [False, True] == [searches.found(each, other, read) for each in patterns]
    assert 4 == read.count


def test_another_way_of_reading_is_another_search():
    searches = EventSearches()
    event = Event("log.fault", 1.0, {"text": "a", "reason": "b"})
    pattern = re.compile("b")
    assert not searches.found(pattern, event, lambda one: str(one.attributes["text"]))
    assert searches.found(pattern, event, lambda one: str(one.attributes["reason"]))


def test_events_that_are_not_held_any_more_are_forgotten():
    searches, read = EventSearches(), CountedReads()
    events = [Event("log.fault", 1.0, {"text": "x"}) for _ in range(2)]
    pattern = re.compile("x")
    assert all(searches.found(pattern, event, read) for event in events)
    searches.keep(events[1:])
    assert all(searches.found(pattern, event, read) for event in events)
    assert 3 == read.count


def test_a_long_line_that_lacks_a_patterns_words_is_not_searched():
    searches, read = EventSearches(), CountedReads()
    pattern = re.compile("(?:a|b|c)+ disk|(?:a|b|c)+ device", re.IGNORECASE)
    event = Event("log.fault", 1.0, {"text": "abc" * 3_000})  # seconds, letter by letter
    began = time.thread_time()
    assert not searches.found(pattern, event, read)
    assert time.thread_time() - began < 0.1
