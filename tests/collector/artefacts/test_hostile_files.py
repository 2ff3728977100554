"""Two hundred hostile and torn files: none stops the reading of the others, or of itself."""

import resource

import pytest

from rankscope.collector.artefacts import diagnose
from rankscope.collector.recordings.otlp_lines import RecordingError

from . import hostile

COUNT = 200
SEED = 20261127
MOST_GROWN = 400 << 10
"""KiB: what reading them may add to this process."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of them, each in a folder of its own, as names clash."""
    root = tmp_path_factory.mktemp("hostile")
    for number, (name, content) in enumerate(hostile.files(SEED, COUNT).items()):
        path = root / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return root


@pytest.fixture
def diagnosed():
    """Return a function that diagnoses paths, None where nothing can be read; no defect passes."""

    def run(*paths):
        defects = []
        try:
            found = diagnose(paths, None, job="job", failed=lambda *one: defects.append(one))
        except RecordingError as error:
            assert str(error)  # noqa: PT017  the text is what the user gets
            found = None
        assert [] == defects
        return found

    return run


def test_each_alone_gives_an_answer_or_a_reason(folder, diagnosed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert COUNT == len(paths)
    answers = [diagnosed(path) for path in paths]
    assert any(answers)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWN


def test_all_together_give_an_answer_and_leave_nothing_behind(folder, diagnosed, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(folder.parent))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = sorted(folder.parent.iterdir())
    found = diagnosed(folder)
    assert found is not None
    assert found.incident is not None
    assert sorted(folder.parent.iterdir()) == before
