"""Whose log a file is, by its name, the names beside it and the prefixes of its lines."""

import pytest

from rankscope.collector.artefacts.job import log_names


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("workerlog.3", 3),
        ("log/workerlog.12", 12),
        ("node-a_rank3.err", 3),
        ("log_7", 7),
        ("task-5.out", 5),
        ("slurm-123_3.out", None),
        ("3.out", None),
        ("slurm-4711.out", None),
    ],
)
def test_names_that_launchers_give_name_a_rank(name, rank):
    assert rank == log_names.rank_of(name)


def test_numbers_are_ranks_beside_the_others():
    assert {"0.out": 0, "1.out": 1, "3.out": 3} == log_names.ranks_of(["0.out", "1.out", "3.out"])
    names = ["slurm-123_0.out", "slurm-123_1.out"]
    assert {names[0]: 0, names[1]: 1} == log_names.ranks_of(names)


@pytest.mark.parametrize(
    "names", [["3.out"], ["slurm-4711.out", "slurm-4712.out"], ["4711.out", "4712.out"],
              ["train.log", "dmesg.txt"], ["run-0.log", "run-1.log"]]
)  # fmt: skip
def test_numbers_of_jobs_are_no_ranks(names):
    assert {} == log_names.ranks_of(names)


def test_a_file_whose_lines_name_other_ranks_is_nobody_s_alone():
    assert log_names.checked("worker-1.log", 1, {8, 9}) is None
    assert 1 == log_names.checked("worker-1.log", 1, {1})
    assert 1 == log_names.checked("worker-1.log", 1, set())


def test_a_worker_of_ray_is_the_rank_that_its_lines_name():
    name = "worker-16f71dc9e36c4bcd9362125426108d7083ea5f394f52fe8bbf1cd810-01000000-24857.err"
    assert 1 == log_names.checked(name, None, {1})
    assert log_names.checked("driver.log", None, {1}) is None
