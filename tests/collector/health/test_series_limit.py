"""A full series table is counted at every point, logged once in ten minutes, and shown."""

from structlog.testing import capture_logs

from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp.columns import SeriesTable


def send(stages, body):
    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
    stages.step()


def refused(health):
    return health.series_refused._value.get()


def lines(logs):
    return [line for line in logs if "series table is full" in line["event"]]


def test_a_full_table_is_logged_once_in_ten_minutes_with_what_to_raise(
    new_stages, pipeline, clock, health, metrics_body
):
    pipeline.table = SeriesTable(capacity=1)
    stages = new_stages()
    stages.recover()
    with capture_logs() as logs:
        send(stages, metrics_body(1.0, host="a"))
        assert (refused(health), lines(logs)) == (0, [])
        for _ in range(5):
            clock.at += 1
            send(stages, metrics_body(1.0, 2.0, host="b"))
        assert refused(health) == 10
        [line] = lines(logs)
        assert line["log_level"] == "error"
        assert line["series"] == 1
        assert "evaluation.max_series" in line["fix"]
        clock.at += 600
        send(stages, metrics_body(1.0, 2.0, host="b"))
        # A line says what was refused since the last one; the newest point waits for the next.
        assert [line["points"] for line in lines(logs)] == [1, 10]
        assert refused(health) == 12
    [warning] = stages.warnings()
    assert "RANKSCOPE_EVALUATION__MAX_SERIES" in warning


def test_with_room_there_is_no_warning(stages, health, metrics_body):
    stages.recover()
    send(stages, metrics_body(1.0, 2.0))
    assert stages.warnings() == []
    assert refused(health) == 0


def test_the_size_of_the_table_is_a_metric(stages, pipeline, health, metrics_body):
    stages.recover()
    send(stages, metrics_body(1.0, host="a"))
    send(stages, metrics_body(1.0, host="b"))
    assert health.series.collect()[0].samples[0].value == len(pipeline.table) == 2
    assert health.series_limit.collect()[0].samples[0].value == pipeline.table.capacity
