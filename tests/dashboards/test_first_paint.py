"""What a page of a large job loads: bytes are asserted, time is measured by a person."""

from collections.abc import Iterator
from typing import Any

import pytest

from .large_job import LargeJob

pytestmark = pytest.mark.programs

MOST_BYTES = 300_000
LOADED = """
performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a real collector's application with 1,024 ranks and 1,000 steps behind it."""
    with LargeJob(tmp_path_factory.mktemp("large"), ranks=1024, steps=1000) as running:
        yield running


@pytest.mark.parametrize(
    ("page", "drawn"),
    [
        ("", ".jobs tbody"),
        ("jobs/large", ".part-resources .frame[data-drawn]"),
        ("nodes", ".nodes tbody"),
    ],
)
def test_a_page_of_a_large_job_loads_less_than_300_kilobytes(
    browser: Any, large: Any, page: str, drawn: str
):
    browser.open(f"{large.address}/#/{page}")
    browser.wait(f"document.querySelector({drawn!r})")
    browser.wait("document.querySelector('main h1')")
    assert 0 < browser.run(LOADED) <= MOST_BYTES


def test_the_slow_rank_of_a_thousand_stays_visible_in_the_coarse_picture(browser: Any, large: Any):
    """A cell is the highest of its ranks: one of 1,024 must not vanish in a mean."""
    browser.open(f"{large.address}/#/jobs/large")
    caption = browser.wait("document.querySelector('.heatmap figcaption')?.innerText")
    assert "Rank 700 stands out." in caption
    waits = browser.wait("document.querySelector('.waits figcaption')?.innerText")
    assert "is waited for most" in waits


def test_every_rank_and_step_is_drawn_on_request(browser: Any, large: Any):
    browser.open(f"{large.address}/#/jobs/large")
    browser.wait("document.querySelector('[data-key=every]')")
    browser.run("document.querySelector('[data-key=every]').click()")
    assert "1024x501" == browser.wait(
        "(drawn => drawn?.startsWith('1024') && drawn)"
        "(document.querySelector('.heatmap [data-drawn]')?.dataset.drawn)"
    )
