"""docs/notifications.md shows messages as they are, and has every format."""

from pathlib import Path

import pytest

from rankscope.alerts import notify
from rankscope.alerts.notify import wording

PAGE = Path(__file__).parents[3].joinpath("docs", "notifications.md").read_text(encoding="utf-8")


def test_the_examples_are_what_people_read(new_notice, digest):
    for notice in (new_notice(), digest):
        assert "\n".join(["```text", *wording.text(notice).lines, "```"]) in PAGE


@pytest.mark.parametrize("name", notify.FORMATS)
def test_every_format_has_its_row_and_its_rate(name):
    assert f"\n| `{name}` | " in PAGE
    rate = notify.FORMATS[name].TRAITS.most_per_minute
    assert rate is None or f"{rate}" in PAGE
