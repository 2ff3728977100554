"""Attributes are equal however their sender ordered them."""

from rankscope.vocabulary.samples import Event, TelemetryResource, attributes


def test_attributes_are_sorted_and_what_is_unknown_is_left_out():
    assert (("a", 1), ("b", "x")) == attributes({"b": "x", "c": None, "a": 1})


def test_zero_false_and_the_empty_text_are_known():
    assert (("a", 0), ("b", False), ("c", "")) == attributes({"a": 0, "b": False, "c": ""})


def test_an_event_without_a_resource_comes_from_nowhere():
    assert TelemetryResource(host="") == Event("change", 1.0).resource
