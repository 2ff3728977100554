"""Whole pages in, the vocabulary's samples and faults out, as written beside each page.

After a wanted change of a table, write the file anew with
`UPDATE_GOLDEN=1 python -m pytest tests/formats/exporters/test_golden.py` and read the difference.
"""

import os

import pytest

from rankscope.formats import exporters

from .conftest import FIXTURES
from .test_coverage import PAGES


def lines_of(mapped):
    for sample in mapped.samples:
        pairs = ",".join(
            f'{name}="{value}"'
            for name, value in sample.attributes
            if name not in ("source", "hw.vendor")
        )
        yield f"{sample.metric}{{{pairs}}} {sample.value:.12g}"
    for binding, value in mapped.faults:
        if value:
            yield f"fault {binding.device.hw_id} {binding.spelled(value)} {binding.kind}"


@pytest.mark.parametrize(
    ("vendor", "page"), [(vendor, page) for vendor, pages in PAGES.items() for page in pages]
)
def test_a_page_becomes_what_is_written_beside_it(vendor, page, read):
    path = FIXTURES / f"{page}.expected"
    got = sorted(lines_of(read(vendor, page=page)))
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text("\n".join(got) + "\n")
    assert path.read_text().splitlines() == got


def test_the_second_page_says_the_same_as_the_first():
    for vendor, pages in PAGES.items():
        mapping = exporters.PageMapping(exporters.load(vendor))
        data = (FIXTURES / f"{pages[0]}.prom").read_bytes()
        first = sorted(lines_of(mapping.read([data], now=1.0)))
        second = sorted(lines_of(mapping.read([data[:100], data[100:]], now=2.0)))
        assert first == second
