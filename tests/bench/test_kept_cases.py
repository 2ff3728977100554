"""A case is run once, and what came of it is there when it is asked for again."""

import pickle

import pytest

from bench import kept_cases
from rankscope.lab import suites


@pytest.fixture(scope="module")
def cases():
    """Return two cases of a suite."""
    return suites.draw(suites.suite("published"), seed=None, hours=24.0)[:2]


def test_a_case_that_was_run_is_read_and_another_is_run(cases, tmp_path):
    ran = []

    def collect(case):
        ran.append(case.name)
        return {"name": case.name}

    first, second = ({"name": case.name} for case in cases)
    assert [first] == list(kept_cases.kept(cases[:1], tmp_path, collect))
    assert [first, second] == list(kept_cases.kept(cases, tmp_path, collect))
    assert [case.name for case in cases] == ran


def test_what_cannot_be_kept_leaves_no_file_that_looks_whole(cases, tmp_path):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        list(kept_cases.kept(cases[:1], tmp_path, lambda _: lambda: None))
    assert not kept_cases.file(cases[0], tmp_path).exists()
