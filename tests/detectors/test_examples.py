"""The docstring of every detector: complete, in order, and its example true."""

import doctest
import importlib
import re

import pytest

from rankscope.detectors import compute_time, sketch
from rankscope.detectors.catalogue import detectors

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)


@EVERY
def test_the_example_prints_what_it_says(detector):
    module = importlib.import_module(type(detector).__module__)
    outcome = doctest.testmod(module, optionflags=doctest.FAIL_FAST)
    assert outcome.attempted >= 3, "an example shows a window and what is found in it"
    assert 0 == outcome.failed


@pytest.mark.parametrize("module", [compute_time, sketch], ids=lambda module: module.__name__)
def test_what_detectors_share_has_no_example_that_fails(module):
    assert 0 == doctest.testmod(module).failed


@EVERY
def test_a_docstring_says_what_parameters_example_failures_and_source(detector):
    text = type(detector).__doc__ or ""
    places = [
        match.start() if (match := re.search(rf"^    {part}", text, re.MULTILINE)) else None
        for part in (r"Parameters\n    -", r"Examples\n    -", "Fails ", "(References?|Source):")
    ]
    assert None not in places, places
    assert sorted(places) == places  # type: ignore[type-var]


@EVERY
def test_every_parameter_is_explained(detector):
    text = type(detector).__doc__ or ""
    for name in vars(detector):
        assert re.search(rf"^    (\w+, )*{name}(, \w+)* : ", text, re.MULTILINE), name
