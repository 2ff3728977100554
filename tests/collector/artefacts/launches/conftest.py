"""Folders of leftovers as launchers leave them."""

from datetime import UTC

import pytest


@pytest.fixture
def first(explain, tmp_path):
    """Return a function that explains files of a folder; one text is job.log."""

    def of(text="", **files):
        for name, content in ({"job.log": text} if text else files).items():
            (tmp_path / name).write_text(content)
        return explain(tmp_path, zone=UTC).document()

    return of
