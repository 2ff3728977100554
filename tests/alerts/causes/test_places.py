"""Who runs where, and what could be observed."""

from dataclasses import replace

from rankscope.alerts.causes.places import Places
from rankscope.vocabulary import entities
from rankscope.vocabulary.ranks import Ranks


def test_a_kind_of_finding_is_observable_where_one_of_its_signals_is_reported(places):
    only = replace(places, observed=frozenset({"hw.frequency"}))
    assert only.observable("gpu.throttled")
    assert not only.observable("host.cpu_wait")


def test_a_rank_comes_with_its_host_where_it_is_known(places):
    assert entities.rank(2, "host-b") == places.rank_entity(2)
    assert entities.rank(9) == places.rank_entity(9)


def test_the_host_of_an_entity_is_its_own_or_that_of_all_its_ranks(places):
    assert "host-b" == places.host_of(entities.rank(2, "host-b"))
    assert "host-b" == places.host_of(entities.Entity("group", "tp:1", None, Ranks((2, 3))))
    assert None is places.host_of(places.job)
    assert None is Places(job=places.job).host_of(entities.rank(2))
