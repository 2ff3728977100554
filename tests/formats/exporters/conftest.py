"""Pages of vendors, and what comes of them in short."""

from pathlib import Path

import pytest

from rankscope.formats import exporters

FIXTURES = Path(__file__).parents[2] / "fixtures" / "exporters"
NOW = 1_700_000_000.0


@pytest.fixture
def read():
    """Map a page, named as a fixture or given as text."""

    def map_page(vendor, text=None, *, page=None, table=None):
        data = text.encode() if text is not None else (FIXTURES / f"{page}.prom").read_bytes()
        mapping = exporters.PageMapping(table or exporters.load(vendor))
        return mapping.read([data], now=NOW)

    return map_page


@pytest.fixture
def values(read):
    """Return {(metric, attributes that matter): value} of a page given as text."""

    def short(vendor, text, *, table=None):
        hidden = {"source", "hw.vendor", "hw.id", "gpu"}
        return {
            (one.metric, tuple(pair for pair in one.attributes if pair[0] not in hidden)): one.value
            for one in read(vendor, text, table=table).samples
            if one.metric not in ("hw.gpu.info", "hw.gpu.allocation")
        }

    return short
