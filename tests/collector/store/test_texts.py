"""Names that no database takes as they are."""

import pytest

from rankscope.collector.store.incidents import IncidentFilter

T0 = 1_700_000_000.0


@pytest.mark.parametrize("odd", ["a\0b", "half \ud83d of a pair", "whole \U0001f525"])
def test_an_odd_job_name_is_stored_and_found_again(store, changed, odd):
    store.commit([changed("opened", jobs=(odd,))], T0)
    assert len(store.incidents(IncidentFilter(job=odd)).items) == 1
    assert store.incidents(IncidentFilter(job="other")).items == []


def test_an_id_with_a_nul_is_unknown_and_no_error(store):
    assert store.incident("a\0b") is None
