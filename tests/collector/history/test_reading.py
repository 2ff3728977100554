"""A stretch of the journal through the pipeline again."""

from rankscope.collector.figures.distribution import SpreadQuery
from rankscope.collector.history import pictures, reading, stretch
from rankscope.collector.history.stretch import JournalStretch
from rankscope.collector.pipeline.pipeline import DetectionPipeline

START = 1_700_000_000.0


def _asked(data_dir, job, start, end):
    stretch = JournalStretch(data_dir / "journal", job, START + start, START + end)
    return reading.root_cause(stretch, DetectionPipeline())


def test_what_went_bad_in_a_stretch_is_found_with_its_incident(data_dir):
    found = _asked(data_dir, "run-1", 250, 400)
    first = found["incident"]["root_cause"]["hypotheses"][0]
    assert first["fault"].startswith("numerics.nan")
    assert found["root_cause"] == found["incident"]["root_cause"]


def test_before_it_went_bad_nothing_is_found(data_dir):
    assert _asked(data_dir, "run-1", 100, 250) == {
        "known": True,
        "root_cause": None,
        "incident": None,
        "others": [],
    }


def test_another_job_of_the_same_journal_is_left_alone(data_dir):
    found = _asked(data_dir, "run-2", 250, 400)
    assert (found["known"], found["incident"]) == (True, None)


def test_a_job_that_never_reported_is_not_known(data_dir):
    assert not _asked(data_dir, "run-3", 250, 400)["known"]


def test_the_journal_says_from_when_on_it_holds(data_dir, tmp_path):
    assert stretch.held_from(data_dir / "journal") == START + 0.1
    assert stretch.held_from(tmp_path) is None


def test_a_metric_of_the_past_is_summed_up_over_the_whole_stretch(data_dir):
    """Windows are emptied on the way: nothing between is lost, and a NaN keeps its rank."""
    asked = JournalStretch(data_dir / "journal", "run-1", START + 10, START + 410)
    wanted = SpreadQuery("training.loss", counter=False, points=40, ranks=(1,))
    (found,) = pictures.distributions(asked, [wanted], capacity=1000)
    assert 10.0 == found["seconds"]
    (variant,) = found["variants"]
    assert {"scope": "local"} == variant["attributes"]
    assert [2.0] * 40 == variant["median"]
    (line,) = variant["lines"]
    assert [2.0] * 29 + [None] * 11 == line["values"]
    (bad,) = variant["nonfinite"]
    assert (1, 55) == (bad["rank"], len(bad["at"]))
