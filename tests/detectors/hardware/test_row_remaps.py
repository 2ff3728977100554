"""Rows of device memory that wait to be replaced, or could not be."""

import pytest

from rankscope.detectors.hardware.row_remaps import RowRemapsDetector
from rankscope.detectors.sketch import START, sketch


@pytest.mark.parametrize(("state", "score"), [("pending", 1.0), ("failed", 2.0)])
def test_a_state_is_reported_since_it_is_there(steady, levels, state, score):
    held = {f"hw.gpu.row_remap|{state}": levels(4, 0, 1, 2, since=20)}
    (finding,) = RowRemapsDetector().evaluate(sketch(steady(), rank_readings=held))
    assert (f"gpu.row_remap_{state}", "GPU-2", START + 20, score) == (
        finding.kind, finding.entity.id, finding.onset[0], finding.score,
    )  # fmt: skip


def test_a_remap_that_took_effect_is_over(steady, levels):
    held = {"hw.gpu.row_remap|pending": levels(4, 0, 1, 2, until=40)}
    assert [] == RowRemapsDetector().evaluate(sketch(steady(), rank_readings=held))


@pytest.mark.parametrize("metric", ["hw.gpu.retired_pages", "hw.gpu.row_remaps"])
def test_a_page_given_up_during_the_attempt_is_found_where_no_state_is_reported(
    steady, levels, metric
):
    held = {f"{metric}|uncorrected": levels(4, 3, 4, 2, since=20)}
    (finding,) = RowRemapsDetector().evaluate(sketch(steady(), rank_readings=held))
    assert ("gpu.row_remap_pending", "GPU-2") == (finding.kind, finding.entity.id)
    assert finding.onset[1] == START + 20
    later = sketch(steady(), rank_readings=held, attempt_started_at=START + 30)
    assert [] == RowRemapsDetector().evaluate(later)
    told = {**held, "hw.gpu.row_remap|pending": levels(4, 0)}
    assert [] == RowRemapsDetector().evaluate(sketch(steady(), rank_readings=told))
