"""Whatever bytes come, each decoder reads them or refuses them as it says."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from tests.examples import examples
from tests.fuzzing.decoders import DECODERS
from tests.fuzzing.mutations import changed


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda one: one.name)
def test_seeds_are_read(decoder):
    for seed in decoder.seeds():
        with contextlib.suppress(*decoder.refusals):
            decoder.read(seed)


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda one: one.name)
def test_any_change_of_an_input_is_read_or_refused(decoder):
    @settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=changed(decoder.seeds()))
    def check(data):
        with contextlib.suppress(*decoder.refusals):
            decoder.read(data)

    check()
