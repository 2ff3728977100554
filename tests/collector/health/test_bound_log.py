"""What passes a bound is counted each time, logged once in ten minutes, and shown for as long."""

from structlog.testing import capture_logs

from rankscope.collector.health.bound_log import LOG_EVERY_SECONDS, BoundLog


def test_a_bound_is_counted_logged_once_and_shown_for_ten_minutes(clock, health):
    log = BoundLog(health=health, clock=clock)
    assert [] == log.warnings()
    with capture_logs() as lines:
        for _ in range(3):
            log.passed("jobs", "j" * 1000, 2)
        log.passed("text", "run-1")
        clock.at += LOG_EVERY_SECONDS
        log.passed("jobs", "another")
    assert 7 == health.bounded.labels("jobs")._value.get()
    rows = [(line["bound"], line["count"], len(line["of"])) for line in lines]
    assert [("jobs", 2, 100), ("text", 1, 5), ("jobs", 5, 7)] == rows
    assert ["evaluation.max_jobs", "evaluation.max_text_bytes"] == [
        lines[0]["setting"],
        lines[1]["setting"],
    ]
    [warning] = log.warnings()
    assert "'another'" in warning
    assert "evaluation.max_jobs" in warning
    clock.at += LOG_EVERY_SECONDS
    assert [] == log.warnings()


def test_what_evaluation_leaves_out_is_in_the_log_too(new_stages, pipeline, health, metrics_body):
    new_stages()
    pipeline.bounded("ranks", "run-1", 3)
    assert 3 == health.bounded.labels("ranks")._value.get()
