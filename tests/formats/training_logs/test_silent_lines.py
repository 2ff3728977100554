"""A line is passed over only where no reader would have found anything in it."""

import random
import re
import time
import tomllib
from pathlib import Path

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import (
    TrainingLogParser,
    data_names,
    resumes,
    saves,
    signatures,
    silent_lines,
)

SILENT = (
    "2026-05-13 12:00:0{} INFO resume=False samples resumed by worker {}",
    "node-1:40{}:52 [0] NCCL INFO Channel 00/0 : {}[0] -> 1[1] [send] via NET/IB/0/GDRDMA",
    "[rank{}]: I saved a dataset of {} rows",
    "presumably resumes are True {} {}",
)
FAULTS = [
    one["text"]
    for one in tomllib.loads((Path(__file__).parent / "fault_lines.toml").read_text())["line"]
]


def placed(data):
    return sorted(
        (found.start(), text)
        for text in training_logs.texts()
        for found in re.finditer(re.escape(text), data)
    )


def told(data, *, known):
    parser = TrainingLogParser(rank=None, near=1.78e9)
    lines = parser.feed(data, places=placed(data) if known else None) + parser.end()
    return [(one.line, one.at, one.text, one.samples, one.events) for one in lines]


def examples():
    forms = [*resumes.forms(), *saves.forms(), *data_names.forms()]
    return [*(one.example for one in forms), *FAULTS]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_told_is_the_same_where_silent_lines_are_passed_over(seed):
    drawn = random.Random(seed)
    heads = ["", "[rank1]: ", "2026-05-13T12:00:00.5Z ", "node-7: ", "(Worker pid=3) "]
    lines = [
        drawn.choice(SILENT).format(drawn.randrange(9), drawn.randrange(99))
        if drawn.randrange(3)
        else drawn.choice(heads) + drawn.choice(examples())
        for _ in range(120)
    ]
    data = "\n".join([*lines, ""]).encode()
    assert told(data, known=False) == told(data, known=True)


def test_silent_lines_are_passed_over_and_telling_ones_are_not(monkeypatch):
    read: list[bytes] = []
    line = TrainingLogParser._line

    def noted(self, data, at):
        read.append(data)
        return line(self, data, at)

    monkeypatch.setattr(TrainingLogParser, "_line", noted)
    silent = [one.format(1, 2).encode() for one in SILENT]
    data = b"\n".join([*silent, b"Resuming training from checkpoint-30500", b""])
    assert told(data, known=True)
    assert [b"Resuming training from checkpoint-30500"] == read


def test_to_pass_over_lines_takes_less_than_half_of_the_cpu_of_reading_them():
    data = b"".join(SILENT[1].format(1, number).encode() + b"\n" for number in range(2000))
    places = placed(data)

    def spent(given):
        begin = time.process_time()
        assert [] == TrainingLogParser(rank=None).feed(data, places=given)
        return time.process_time() - begin

    assert min(spent(places) for _ in range(3)) < min(spent(None) for _ in range(3)) / 2


@pytest.mark.parametrize(
    ("pattern", "anywhere"),
    [
        (r"(?<!not )\b[Ss]aving$", r"\b[Ss]aving$"),
        (r"^ab(?P<rank>\d)[^(]\(", r"ab(?P<rank>\d)[^(]\("),
        (r"(?:^|(?<=[)]))x\^", r"(?:|)x\^"),
        (r"x(?!.*(?<!a)b)", None),
        (r"x(?!y(?:z))w", r"x(?!y(?:z))w"),
    ],
)
def test_a_pattern_that_asks_where_a_line_begins_is_loosened_or_left_alone(pattern, anywhere):
    assert anywhere == silent_lines._anywhere(pattern)


def test_every_pattern_of_the_tables_can_be_compiled_once_it_is_loosened():
    told, every = (resumes.forms(), saves.forms(), data_names.forms()), signatures.catalogue()
    patterns = [one.pattern for one in every] + [one.pattern for forms in told for one in forms]
    loosened = [silent_lines._anywhere(one.pattern) for one in patterns]
    assert all(re.compile(one).search("") is None for one in loosened if one is not None)
    assert loosened.count(None) < len(loosened) / 20
