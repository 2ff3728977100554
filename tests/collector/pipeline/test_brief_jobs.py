"""Jobs that were hardly heard of: many of them cost no more than a budget, and hold up nobody."""

from rankscope.collector.pipeline import brief_jobs
from rankscope.collector.pipeline.brief_jobs import LOGS_COST, SAMPLES_COST, in_turn
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import decode, encode
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource

START = 1_700_000_000.0
MANY = 1_000


def lines(at, *jobs):
    pairs: dict[str, Scalar] = {"text": "x", "signature": "nccl.timeout", "role": "root", "rank": 0}
    return [Event("log.fault", at, pairs, TelemetryResource("h", job, 0)) for job in jobs]


def evaluated(pipeline):
    """Return what collects the jobs that are evaluated."""
    seen = []
    pipeline.watch = lambda window, _found: seen.append(window.job)
    return seen


def test_within_the_budget_it_is_everybodys_turn():
    assert {0, 1, 2} == in_turn([(5.0, 10), (1.0, 10), (3.0, 10)], 30)


def test_beyond_it_those_come_first_that_were_not_evaluated_for_longest():
    waiting = [(5.0, 10), (1.0, 10), (3.0, 10)]
    assert {1} == in_turn(waiting, 10)
    assert {1, 2} == in_turn(waiting, 20)


def test_a_job_that_holds_more_events_than_the_budget_has_its_turn_too():
    assert {0} == in_turn([(1.0, 1_000), (2.0, 1)], 10)
    assert {1} == in_turn([(3.0, 1), (2.0, 1_000)], 10)


def test_few_jobs_of_logs_are_all_evaluated_at_the_next_second_in_the_order_of_their_ids():
    pipeline = DetectionPipeline(detectors=())
    seen = evaluated(pipeline)
    pipeline.events(lines(START, "b", "c", "a"), START)
    pipeline.evaluate(START + 1)
    assert ["a", "b", "c"] == seen


def test_of_many_jobs_of_logs_each_is_evaluated_though_all_are_named_each_second(monkeypatch):
    monkeypatch.setattr(brief_jobs, "BUDGET", 10 * LOGS_COST)
    pipeline = DetectionPipeline(detectors=())
    seen = evaluated(pipeline)
    names = [f"job-{number:02}" for number in range(40)]
    for second in range(12):
        pipeline.events(lines(START + second, *names), START + second)
        pipeline.evaluate(START + second + 1)
        assert START + second + 2 == pipeline.next_due()
    assert set(names) == set(seen)
    assert len(seen) < 3 * len(names)


def test_jobs_of_one_sample_each_share_the_budget_and_each_has_its_turn(monkeypatch):
    monkeypatch.setattr(brief_jobs, "BUDGET", 10 * SAMPLES_COST)
    pipeline = DetectionPipeline(detectors=())
    seen = evaluated(pipeline)
    names = [f"job-{number:02}" for number in range(40)]
    for name in names:
        _report(pipeline, START, name)
    for second in range(4):
        pipeline.evaluate(START + second + 1)
        assert 10 * (second + 1) == len(seen)
    assert sorted(names) == sorted(seen)


def test_a_job_with_samples_is_evaluated_each_second_whatever_the_others_cost(monkeypatch):
    monkeypatch.setattr(brief_jobs, "BUDGET", 1)
    pipeline = DetectionPipeline(detectors=())
    for earlier in (-2, -1):
        _report(pipeline, START + earlier)
    seen = evaluated(pipeline)
    for second in range(3):
        _report(pipeline, START + second)
        pipeline.events(lines(START + second, "a", "b", "c", "zz"), START + second)
        pipeline.evaluate(START + second + 1)
    assert 3 == seen.count("real")
    assert 3 == len(seen) - seen.count("real")


def test_a_thousand_jobs_of_logs_do_not_delay_the_incident_of_a_real_one():
    alone = _detected(jobs=())
    assert alone is not None
    assert alone == _detected(jobs=[f"job-{number:04}" for number in range(MANY)])


def _detected(jobs):
    """Return when the crash of a rank is first reported, jobs of logs beside it."""
    pipeline = DetectionPipeline()
    crash = {"rank": 1, "pid": 7, "exit_code": 1}
    for second in range(12):
        now = START + second
        if second < 5:
            _report(pipeline, now)
        if second == 5:
            of = TelemetryResource("gpu-1", "real", 0)
            pipeline.events([Event("process.exit", now, crash, of)], now)
        if 3 < second < 7:
            pipeline.events(lines(now, *jobs), now)
        pipeline.evaluate(now + 1)
        mine = [one for one in pipeline.incidents.values() if one.job == "real"]
        if mine:
            return mine[0].detected_at
    return None


def _report(pipeline, at, job="real"):
    samples = [
        Sample(name, value, at, (("rank", rank),))
        for rank in (0, 1)
        for name, value in (("training.step", at - START), ("training.step.duration", 1.0))
    ]
    body = encode.metrics_request([(TelemetryResource("gpu-1", job, 0), samples)])
    pipeline.metrics(decode.MetricsDecoder(pipeline.table).protobuf(body), at)
