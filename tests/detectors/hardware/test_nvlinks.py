"""Links between devices: those that went down, and those that repeat transfers."""

from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.nvlinks import NvLinksDetector
from rankscope.detectors.sketch import sketch


def found(**by_rank):
    """Return the findings on links of eight devices."""
    named = {f"hw.gpu.nvlink.{name}": held for name, held in by_rank.items()}
    return NvLinksDetector().evaluate(sketch(steady(ranks=8), rank_readings=named))


def test_links_that_went_down_are_one_finding_a_device():
    down = levels(8, 1, 0, 5, since=40)
    (finding,) = found(**{"up|3": down, "up|10": down})
    assert "gpu GPU-5 on host-1: NVLinks 3, 10 are down" == finding.text


def test_a_link_that_never_was_up_counts_where_all_peers_have_it():
    (finding,) = found(**{"up|3": levels(8, 1, 0, 5)})
    assert ("gpu.nvlink_down", "GPU-5") == (finding.kind, finding.entity.id)


def test_a_link_that_no_device_of_the_model_has_is_not_down():
    assert [] == found(**{"up|17": levels(8, 0)})
    assert [] == found(**{"up|17": levels(8, 1, 0, [4, 5, 6, 7])})


def test_errors_far_above_the_peers_are_evidence():
    (finding,) = found(**{"errors|replay|2": levels(8, 0, 50, 1, counter=True)})
    assert ("gpu.nvlink_errors", "GPU-1") == (finding.kind, finding.entity.id)


def test_a_replay_now_and_then_is_normal_life():
    assert [] == found(**{"errors|replay|2": levels(8, 0, 1, 1, since=50)})
    assert [] == found(**{"errors|replay|2": levels(8, 50, counter=True)})
