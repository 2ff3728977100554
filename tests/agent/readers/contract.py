"""What every reader owes the agent, as checks over one reader and what is known of it."""

from collections.abc import Mapping, Sequence

from rankscope.agent.readers import NodeReader
from rankscope.agent.readers.catalogue import ReaderEntry
from rankscope.vocabulary import events
from rankscope.vocabulary.metrics import ContractMetric
from rankscope.vocabulary.samples import Sample


def check_name_and_period(reader: NodeReader, every: Sequence[NodeReader]) -> None:
    """Check the name by which settings, health and doctor call it, and its period."""
    assert [one.name for one in every].count(reader.name) == 1
    assert reader.period > 0


def check_entry(entry: ReaderEntry, metrics: Mapping[str, ContractMetric]) -> None:
    """Check that its row in readers.toml names what the vocabulary has, and lacks nothing."""
    assert set(entry.metrics) <= set(metrics)
    assert set(entry.events) <= set(events.catalogue())
    assert entry.metrics or entry.events
    assert entry.profile in ("restricted", "full")
    for text in (entry.what, entry.source, entry.needs, entry.failure, entry.fix):
        assert len(text) > 10
        assert not text.endswith(".")  # the pages and the table end the sentence


def check_supported(reader: NodeReader) -> None:
    """Check that it gives a reason where it cannot read."""
    supported, reason = reader.supported()
    assert supported or len(reason) > 10


def check_samples(
    reader: NodeReader, now: float, *, entry: ReaderEntry, metrics: Mapping[str, ContractMetric]
) -> None:
    """Check that samples are in the vocabulary and its row, timed `now`, each series once."""
    samples = read(reader, now)
    for sample in samples:
        metric = metrics[sample.metric]
        names = {name for name, _ in sample.attributes}
        assert set(metric.attributes) <= names
        assert names <= {*metric.attributes, *metric.optional, "source", "quality"}
        assert sample.metric in entry.metrics
        assert sample.at == now
        assert sample.value >= 0
    series = [(sample.metric, sample.attributes) for sample in samples]
    assert len(series) == len(set(series))


def read(reader: NodeReader, now: float) -> list[Sample]:
    """Read as the agent does: what this machine, or this user, does not have is not read."""
    return reader.read(now) if reader.supported()[0] else []
