"""GPU time used: from telemetry to weeks of the store, with the user label that it carries."""

import pytest

from rankscope.collector.accounting.metering import UsageMeter
from rankscope.collector.accounting.watched import JobSummaries
from rankscope.collector.evaluation.series import SeriesTranslations
from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.settings.collector import UserSettings
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import JOB_USER, Sample, TelemetryResource, attributes

AT = 1_700_000_000.0


class Owner:
    """A pipeline that telemetry is given to at once."""

    def __init__(self):
        self.line = DetectionPipeline()
        self._decoder = PayloadDecoder(self.line.table.alike())
        self._translations = SeriesTranslations(self.line.table)

    def read(self, question):
        return question(self.line)

    def ran(self, job, start, end, *, user=None, ranks=4):
        """Give a step of every rank each 10 s, as it ends."""
        for at in range(int(start), int(end) + 1, 10):
            samples = [
                Sample("training.step", at - AT, float(at), attributes({"rank": rank}))
                for rank in range(ranks)
            ]
            extra = attributes({JOB_USER: user})
            resource = TelemetryResource(host="h", job=job, extra=extra)
            body = encode.metrics_request([(resource, samples)])
            decoded = self._decoder.decode(Payload(PayloadKind.METRICS_PROTOBUF, body))
            assert decoded.metrics is not None
            assert decoded.table is not None
            batch = self._translations.translated(decoded.metrics, decoded.table)
            self.line.metrics(batch, float(at))
        self.line.evaluate(end)


@pytest.fixture
def owner():
    return Owner()


@pytest.fixture
def metering(owner, store):
    return UsageMeter(JobSummaries(owner), store, [UserSettings(jobs="run-*", user="team")])


def test_what_a_job_uses_is_ranks_times_time_and_its_telemetry_names_the_user(owner, metering):
    owner.ran("run-1", AT, AT + 600, user="ann")
    (row,) = metering.usage()
    assert (row.user, row.ranks, row.gpu_seconds) == ("ann", 4, 2400.0)


def test_a_job_without_a_label_has_the_user_of_the_settings(owner, metering):
    owner.ran("run-1", AT, AT + 60)
    owner.ran("other", AT, AT + 60)
    assert [(row.job, row.user) for row in metering.usage()] == [("other", ""), ("run-1", "team")]


def test_what_was_kept_stays_after_a_restart_and_counts_once(owner, metering, store):
    owner.ran("run-1", AT, AT + 60, user="ann")
    metering.keep()
    metering.keep()
    owner.ran("run-1", AT + 60, AT + 120, user="ann")
    metering.keep()
    (row,) = UsageMeter(JobSummaries(Owner()), store, []).usage()
    assert (row.user, row.gpu_seconds) == ("ann", 480.0)


def test_settings_of_users_changed_later_hold_for_the_past(owner, metering, store):
    owner.ran("run-1", AT, AT + 60)
    metering.keep()
    later = UsageMeter(JobSummaries(Owner()), store, [UserSettings(jobs="*", user="other team")])
    assert [row.user for row in later.usage()] == ["other team"]
