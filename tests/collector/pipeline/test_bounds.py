"""Bounds of the settings in a pipeline, alike live and in a replay, and after a restart."""

import pickle

from rankscope.collector.pipeline import bounds
from rankscope.collector.pipeline.pipeline import MOST_NEW_JOBS, DetectionPipeline
from rankscope.collector.settings.evaluation import EvaluationSettings
from rankscope.collector.windows.bounds import WindowBounds
from rankscope.formats.otlp import decode, encode
from rankscope.formats.otlp.text_bounds import TextBounds
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource

START = 1_700_000_000.0


def lines(*jobs):
    return [
        Event("log.fault", START, {"text": "x"}, TelemetryResource("h", job, 0)) for job in jobs
    ]


def test_the_defaults_of_the_settings_are_those_of_what_they_set():
    settings = EvaluationSettings()
    assert WindowBounds() == bounds.of_windows(settings)
    assert TextBounds() == bounds.of_texts(settings)


def test_what_is_left_out_is_told_to_whoever_listens_and_left_out_in_silence_too():
    told = []
    settings = EvaluationSettings(max_jobs=2)
    listening, replay = DetectionPipeline(settings=settings), DetectionPipeline(settings=settings)
    listening.bounded = lambda *what: told.append(what)
    for pipeline in (listening, replay):
        pipeline.events(lines("a", "b", "c", "d"), START)
        assert {"a", "b"} == {job for job, _ in pipeline.windows.attempts}
    assert [("jobs", "d", 2)] == told


def test_a_restart_goes_on_with_the_bounds_of_this_process():
    held = DetectionPipeline()
    held.bounded = print
    held.events(lines("a", "b"), START)
    again = pickle.loads(pickle.dumps(held))  # noqa: S301  our own
    assert again.bounded is None
    started = DetectionPipeline(settings=EvaluationSettings(max_jobs=2, max_name_bytes=64))
    again.resume(started)
    again.events(lines("c"), START + 1)
    assert {"a", "b"} == {job for job, _ in again.windows.attempts}
    assert 64 == again.table.bounds.name_bytes
    assert {} == again.windows.notes.found


def test_of_very_many_new_jobs_some_wait_for_the_next_second():
    pipeline = DetectionPipeline(detectors=())
    seen = []
    pipeline.watch = lambda window, _found: seen.append(window.job)
    names = [f"job-{number:05}" for number in range(MOST_NEW_JOBS + 3)]
    both = [Sample("training.loss", 2.0, START - ago, (("rank", 0),)) for ago in (2, 0)]
    body = encode.metrics_request([(TelemetryResource("h", name, 0), both) for name in names])
    pipeline.metrics(decode.MetricsDecoder(pipeline.table).protobuf(body), START)
    pipeline.evaluate(START + 1)
    assert names[:MOST_NEW_JOBS] == seen
    assert START + 2 == pipeline.next_due()
    pipeline.evaluate(START + 2)
    assert names == seen
