"""PCIe links of working devices that run below what they can, or repeat packets."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.pcie import PcieLinksDetector
from rankscope.detectors.sketch import START, readings, sketch


def found(ranks=4, busy=None, **by_rank):
    """Return the findings on the links of working devices."""
    held = {f"hw.gpu.pcie.{name}": value for name, value in by_rank.items()}
    held["hw.gpu.utilization"] = busy or levels(ranks, 0.9)
    return PcieLinksDetector().evaluate(sketch(steady(ranks=ranks), rank_readings=held))


@pytest.mark.parametrize("word", ["width", "generation"])
def test_a_link_below_its_peers_and_its_own_best_is_named(word):
    most = {f"{word}.max": levels(4, 16)}
    (finding,) = found(**{word: levels(4, 16, 8, 2), **most})
    assert ("gpu.pcie_slow", "GPU-2", 0.5) == (finding.kind, finding.entity.id, finding.magnitude)


def test_an_idle_link_lowers_its_generation_and_is_no_fault():
    generation = {"generation": levels(4, 5, 1, 2), "generation.max": levels(4, 5)}
    assert [] == found(busy=levels(4, 0.9, 0.05, 2), **generation)


def test_a_link_that_rises_with_the_load_is_no_fault():
    generation = {"generation": levels(4, 5, 1, 2, until=40), "generation.max": levels(4, 5)}
    assert [] == found(**generation)


def read_rarely(*times):
    """Evaluate devices that begin to work at 100 s; one link is read at some times."""
    at = START + np.arange(0.0, 601, 1)
    busy = np.where(at - START < 100, 0.02, 0.9)
    links = np.full((4, len(times)), 5.0)
    links[2] = 1.0
    read = START + np.array(times, float)
    held = {
        "hw.gpu.pcie.generation": readings(read, links),
        "hw.gpu.pcie.generation.max": readings(read, np.full((4, 1), 5.0)),
        "hw.gpu.utilization": readings(at, np.tile(busy, (4, 1))),
    }
    window = sketch(steady(steps=600), now=START + 600.0, rank_readings=held)
    return [finding.entity.id for finding in PcieLinksDetector().evaluate(window)]


def test_a_link_that_was_read_before_the_load_says_nothing_about_it():
    assert [] == read_rarely(50)
    assert ["GPU-2"] == read_rarely(50, 300, 550)


def test_one_reading_under_load_may_be_that_of_a_moment_of_rest():
    assert [] == read_rarely(50, 350)


def test_links_that_fall_together_follow_the_job():
    """Devices of a job that waits save power, though their waiting kernels count as busy."""
    generation = {"generation": levels(4, 4, 1, range(4), since=20)}
    assert [] == found(**generation)


def test_a_link_that_falls_while_no_step_ends_is_no_fault():
    held = {
        "hw.gpu.pcie.generation": levels(4, 4, 1, 2),
        "hw.gpu.pcie.generation.max": levels(4, 4),
        "hw.gpu.utilization": levels(4, 0.9),
    }
    stands = sketch(steady(steps=10), now=START + 60.0, rank_readings=held)
    assert [] == PcieLinksDetector().evaluate(stands)


def test_narrow_slots_everywhere_are_what_the_site_bought():
    assert [] == found(**{"width": levels(4, 8), "width.max": levels(4, 16)})


def test_a_single_device_is_compared_with_its_own_past():
    width = levels(1, 16, 8, 0, since=20)
    assert ["gpu.pcie_slow"] == [f.kind for f in found(ranks=1, width=width)]
    assert [] == found(ranks=1, width=levels(1, 8), **{"width.max": levels(1, 16)})


def test_replays_count_by_rate_against_the_peers():
    (finding,) = found(replays=levels(4, 0, 30, 1, counter=True))
    assert ("gpu.pcie_replays", "GPU-1") == (finding.kind, finding.entity.id)
    assert [] == found(replays=levels(4, 30, counter=True))
    assert [] == found(replays=levels(4, 0, 1, 1, counter=True))


def test_a_link_that_falls_as_the_job_stops_is_no_fault_however_early_it_is_looked_at():
    """All that is looked at was read after the last step, which is not long ago yet."""
    held = {
        "hw.gpu.pcie.generation": levels(4, 4, 1, 2, since=25),
        "hw.gpu.pcie.generation.max": levels(4, 4),
        "hw.gpu.utilization": levels(4, 0.9),
    }
    assert [] == PcieLinksDetector().evaluate(
        sketch(steady(steps=28), now=START + 60.0, rank_readings=held)
    )
