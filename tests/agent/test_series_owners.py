from rankscope.agent import series_owners
from rankscope.agent.series_owners import SeriesOwners
from rankscope.vocabulary.samples import Sample, attributes


def test_a_series_is_looked_through_once_and_no_more_than_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(series_owners, "_MOST", 3)
    owners = SeriesOwners()
    held = [attributes({"pid": number, "rank": 0}) for number in range(10)]
    for pairs in held:
        found = owners.of(pairs)
        assert owners.of(pairs) is found
        assert (found.pid, found.of_rank, found.hw_id) == (dict(pairs)["pid"], True, None)
        assert len(owners._known) <= 3


def test_what_looks_like_a_pid_and_is_none_is_nobodys_process():
    found = SeriesOwners().of(attributes({"pid": "7", "hw.id": 3}))
    assert (found.pid, found.of_rank, found.hw_id) == (None, False, None)


def test_a_rank_is_put_on_a_series_once_and_anew_when_it_is_another():
    series = SeriesOwners().of(attributes({"hw.id": "GPU-1"}))
    sample = Sample("hw.power", 1.0, 2.0, series.pairs)
    first, again = series.with_rank(sample, 3), series.with_rank(sample, 3)
    assert first == Sample("hw.power", 1.0, 2.0, (("hw.id", "GPU-1"), ("rank", 3)))
    assert again.attributes is first.attributes
    assert ("rank", 4) in series.with_rank(sample, 4).attributes
