"""A recording cut out of a real journal: the same first cause, nothing of other jobs in it."""

import json
from dataclasses import replace

import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.recordings.cut import CutError, JournalCut, JournalRange
from rankscope.collector.recordings.truth import truth
from rankscope.collector.replay.replay import ReplayRun


@pytest.fixture
def cut(recorded, tmp_path):
    """Return a function that cuts the incident out, and the file and the cut."""

    def make(**more):
        wanted = JournalRange.of(recorded.incident)
        made = JournalCut(recorded.folder / "journal", wanted, **more)
        file = tmp_path / "incident.jsonl"
        file.write_text("".join(f"{line}\n" for line in made.lines()), encoding="utf-8")
        return file, made

    return make


def first(document):
    cause = document["root_cause"]["hypotheses"][0]
    return cause["fault"], cause["entity"]["type"], tuple(cause["entity"]["ranks"])


def replayed(file):
    def failed(_stage, error):
        raise error

    found = ReplayRun(pipeline=DetectionPipeline(), warn=lambda _: None, failed=failed).run(file)
    (document,) = [row for row in found if row["severity"] != "info"]
    return document


def strings(file):
    """Return every text of a recording: names of metrics, keys and values."""
    found = set()

    def walk(value):
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for line in file.read_text(encoding="utf-8").splitlines():
        walk(json.loads(line))
    return found


def test_its_replay_finds_the_incident_again(recorded, cut):
    file, _ = cut()
    document = replayed(file)
    assert first(recorded.incident) == first(document)
    assert recorded.incident["opened_at"] == document["opened_at"]
    assert recorded.incident["id"] == document["id"]


def test_other_jobs_and_their_hosts_are_left_out(cut):
    file, made = cut()
    assert not {"other-job", "other-host"} & strings(file)
    assert {"gpu-00", "gpu-01"} == made.hosts


def test_anonymised_it_has_the_same_cause_and_none_of_the_names(recorded, cut):
    file, made = cut(anonymise=True)
    document = replayed(file)
    assert first(recorded.incident) == first(document)
    host = recorded.incident["root_cause"]["hypotheses"][0]["entity"]["host"]
    expected = made.names.identity(host)
    assert expected == document["root_cause"]["hypotheses"][0]["entity"]["host"]
    names = {*made.hosts, *recorded.incident["jobs"], recorded.incident["cluster"]}
    assert [] == [text for text in strings(file) if any(name in text for name in names)]


def test_the_truth_speaks_of_the_recordings_names(recorded, cut):
    _, made = cut(anonymise=True)
    cause = recorded.incident["root_cause"]["hypotheses"][0]
    found = truth(recorded.incident, made.names)
    expected = made.names.identity(cause["entity"]["id"])
    assert (cause["fault"], expected, ["job-0001"]) == (
        found["fault"], found["entity"], found["jobs"],
    )  # fmt: skip
    assert expected != truth(recorded.incident)["entity"] == cause["entity"]["id"]


def test_two_cuts_are_the_same_to_the_byte(cut):
    one, _ = cut(anonymise=True)
    text = one.read_bytes()
    other, _ = cut(anonymise=True)
    assert text == other.read_bytes()


def test_a_range_that_is_no_longer_held_is_an_error(recorded):
    wanted = JournalRange.of(recorded.incident)
    gone = replace(wanted, start=wanted.start - 1e6, end=wanted.end - 1e6)
    with pytest.raises(CutError, match="no telemetry of"):
        JournalCut(recorded.folder / "journal", gone)
