"""Questions about the past over HTTP: another process reads, within bounds."""

import pytest

from rankscope.collector.figures.distribution import SpreadQuery
from rankscope.collector.history.asking import JournalHistory, PastError
from rankscope.collector.history.journal_reader import FileJournalReader
from rankscope.collector.settings.collector import CollectorSettings

START = 1_700_000_000.0


def _past(data_dir, **bounds):
    settings = CollectorSettings.model_validate({"data_dir": data_dir, "past": bounds})
    return JournalHistory(settings, FileJournalReader(settings.journal_folder))


def test_another_process_answers(data_dir):
    found = _past(data_dir).root_cause("run-1", START + 250, START + 400)
    assert found["incident"]["jobs"] == ["run-1"]


def test_what_takes_too_long_is_ended_and_says_what_to_do(data_dir):
    with pytest.raises(PastError, match="ask for a shorter range"):
        _past(data_dir, seconds=0.01).root_cause("run-1", START + 250, START + 400)


def test_what_takes_too_much_memory_says_so(data_dir):
    past = _past(data_dir, memory_bytes=64 << 20)
    with pytest.raises(PastError, match=r"past\.memory_bytes"):
        past.root_cause("run-1", START + 250, START + 400)


def test_a_second_question_at_a_time_is_put_off(data_dir):
    past = _past(data_dir)
    with past._one, pytest.raises(PastError, match="ask again") as refusal:
        past.root_cause("run-1", START + 250, START + 400)
    assert refusal.value.busy


def test_the_process_reads_only(data_dir):
    before = sorted((file.name, file.stat().st_size) for file in data_dir.rglob("*"))
    _past(data_dir).root_cause("run-2", START + 250, START + 300)
    assert before == sorted((file.name, file.stat().st_size) for file in data_dir.rglob("*"))


def test_another_process_sums_a_metric_up(data_dir):
    wanted = SpreadQuery("training.step.duration", counter=False, points=10)
    found = _past(data_dir).distribution("run-1", START + 100, START + 200, wanted)
    assert [2.0] * 10 == found["variants"][0]["mean"]


def test_what_was_asked_for_in_the_same_pass_is_answered_without_another(data_dir):
    past = _past(data_dir)
    step = SpreadQuery("training.step.duration", counter=False, points=10)
    loss = SpreadQuery("training.loss", counter=False, points=10)
    first = past.distribution("run-1", START + 100, START + 200, step, loss)
    with past._one:  # nothing can be read now
        assert first == past.distribution("run-1", START + 100, START + 200, step)
        kept = past.distribution("run-1", START + 100, START + 200, loss)
    assert [2.0] * 10 == kept["variants"][0]["mean"]


def test_answers_that_are_kept_are_bounded(data_dir):
    past = _past(data_dir)
    loss = SpreadQuery("training.loss", counter=False, points=10)
    for number in range(300):
        past._kept.put(("run", 0.0, float(number), loss), {})
    assert past._kept.get(("run", 0.0, 0.0, loss)) is None
    assert past._kept.get(("run", 0.0, 299.0, loss)) == {}
