"""Congestion marks, notifications and pauses at the job's ports."""

from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.congestion import CongestionDetector
from rankscope.detectors.sketch import START, sketch


def found(usual, odd, which, **how):
    """Evaluate marks at the ports of four hosts over ten minutes."""
    marks = levels(4, usual, odd, which, counter=True, seconds=600, **how)
    held = {"hw.network.congestion|mlx5_0|ecn|1": marks}
    window = sketch(steady(ranks=8), hosts=4, now=START + 600, host_readings=held)
    return CongestionDetector().evaluate(window)


def test_marks_that_rose_on_most_hosts_are_evidence_since_they_rose():
    (finding,) = found(100, 2000, [0, 1, 2, 3], since=420)
    assert ("job", 20) == (finding.entity.type, round(finding.magnitude))
    assert finding.onset[0] <= START + 420 <= finding.onset[1] + 60


def test_marks_of_one_host_are_no_congestion_of_the_fabric():
    assert [] == found(100, 2000, [1], since=420)


def test_marks_as_frequent_as_ever_are_a_busy_fabric():
    assert [] == found(2000, None, ())


def test_marks_that_are_over_are_over():
    assert [] == found(100, 2000, [0, 1, 2, 3], since=300, until=480)
