"""Rows that lines of a form may be of are found once for all that differ in their numbers."""

import pytest

from rankscope.formats import needles
from rankscope.formats.training_logs import signatures

ROWS = [("step", False, 1), ("Xid 79", False, 2), ("lr", True, 3), ("loss: nan", False, 4)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("step 17 LR 0.1", [1, 3]),
        ("step 18 LR 0.2", [1, 3]),
        ("step 18 Xid 79", [1, 2]),
        ("step 18 Xid 80", [1]),
        ("step 18 xid 79", [1]),
        ("loss: nan", [4]),
        ("step " + "9" * 3000 + " lr", [1, 3]),
    ],
)
def test_a_line_has_the_rows_whose_texts_it_holds(line, expected):
    rows = needles.ShapedRows(ROWS)
    for text in ("step 1 Xid 1", "another line", line):
        found = list(rows.of(text))
    assert expected == found


def test_more_forms_of_lines_than_are_kept_are_read_all_the_same():
    rows = needles.ShapedRows(ROWS)
    lines = ["step " + "x" * size for size in range(1000)]
    assert all(list(rows.of(line)) == [1] for line in lines + lines)


@pytest.mark.parametrize("one", signatures.catalogue()[::40], ids=lambda one: one.name)
def test_every_text_is_found_behind_a_line_of_the_same_form(one):
    rows = needles.ShapedRows((row.needle, False, row) for row in signatures.catalogue())
    for number in ("1", "22"):
        assert one in list(rows.of(f"worker {number}: {one.needle} {number}"))
