"""A journal on disk with an hour of one job, in the middle of which a value goes bad."""

import pytest

from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.vocabulary.samples import Sample, Scalar, TelemetryResource, attributes

START = 1_700_000_000.0
BAD_AT = START + 300.0
SECONDS = 420


def _step(job, at, step, bad):
    groups = []
    for rank, host in ((0, "gpu-1"), (1, "gpu-2")):
        pairs = attributes({"rank": rank})
        where: dict[str, Scalar | None] = {"rank": rank, "local_rank": 0, "world_size": 2,
                 "pid": 100 + rank, "hw.id": f"GPU-{rank}", "framework": "torch"}  # fmt: skip
        loss = float("nan") if bad and rank == 1 else 2.0
        samples = [
            Sample("training.rank.info", 1, at, attributes(where)),
            Sample("training.step", step, at, pairs),
            Sample("training.step.duration", 2.0, at, pairs),
            Sample("training.loss", loss, at, attributes({"rank": rank, "scope": "local"})),
        ]
        groups.append(
            (TelemetryResource(host=host, job=job, cluster="c1", service="rankscope"), samples)
        )
    return encode.metrics_request(groups)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """Return a collector's data folder with the journal of jobs run-1 (goes bad) and run-2."""
    folder = tmp_path_factory.mktemp("data")
    journal = FileJournal(folder / "journal", JournalSettings(segment_bytes=1 << 16))
    decoder = PayloadDecoder(SeriesTable())
    entries = []
    for second in range(0, SECONDS, 2):
        at = START + second
        for number, job in enumerate(("run-1", "run-2")):
            body = _step(job, at, second // 2, bad=job == "run-1" and at >= BAD_AT)
            at_ns = round((at + 0.1 * (number + 1)) * 1e9)
            decoded = decoder.decode(Payload(PayloadKind.METRICS_PROTOBUF, body)).metrics
            # A few requests whole, as those of unsteady senders are; the others as columns.
            layout = None if second % 20 == 0 or decoded is None else decoded.layout
            entries.append(JournalEntry(PayloadKind.METRICS_PROTOBUF, at_ns, body, layout))
    assert journal.write(entries).entries == len(entries)
    journal.close()
    return folder
