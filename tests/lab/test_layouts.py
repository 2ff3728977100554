"""The job of a trial: ranks become hosts, and every fault gets a job that it can occur in."""

import pytest
from tests.examples import told

from rankscope.lab import catalogue, layouts
from rankscope.lab.simulator.faults import FAULTS


def scenario(name, ranks):
    return layouts.scenario(name, catalogue.simulated(name), ranks, seed=0, strength="plain")


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8, 12, 16, 64, 128, 1024])
def test_any_number_of_ranks_has_a_layout_of_two_hosts_or_more(ranks):
    hosts, slots = layouts.layout(ranks)
    assert hosts * slots == ranks
    assert hosts > 1 or ranks == 1
    assert slots <= 8


def test_every_fault_has_a_job_where_no_ranks_are_given():
    for kind in FAULTS:
        with told(kind=kind):
            cluster = scenario(kind, None).cluster
            wanted = (4, 8) if kind in ("switch", "rack_cooling") else (2, 8)
            assert wanted == (cluster.hosts, cluster.slots)


@pytest.mark.parametrize(
    ("name", "ranks", "said"),
    [
        (
            "network.switch",
            16,
            "--ranks 16 is 2 hosts of 8 ranks; network.switch needs 4 hosts: use --ranks 32",
        ),
        (
            "balance.pipeline_stage",
            3,
            "pipeline_stage needs ranks that split evenly into pipeline stages: use --ranks 4",
        ),
        (
            "balance.expert",
            7,
            "balance.expert needs ranks that split evenly into groups of experts: use --ranks 8",
        ),
        (
            "gpu.nvlink",
            7,
            "--ranks 7 is 7 hosts of 1 rank; gpu.nvlink needs two ranks a host: use --ranks 8",
        ),
        (
            "host.lost",  # nobody of the job is left to report
            1,
            "--ranks 1 is 1 host of 1 rank; host.lost needs 2 hosts: use --ranks 2",
        ),
        ("software.gc_pause", 2, "software.gc_pause needs 4 ranks: use --ranks 4"),
        ("software.crash", 0, "--ranks: at least 1"),
    ],
)
def test_ranks_that_do_not_fit_are_refused_with_a_number_that_does(name, ranks, said):
    with pytest.raises(catalogue.FaultError) as refused:
        scenario(name, ranks)
    assert str(refused.value).endswith(said)


def test_what_is_advised_can_be_had():
    for kind in FAULTS:
        for ranks in (1, 3, 7, 16):
            with told(kind=kind, ranks=ranks):
                try:
                    scenario(kind, ranks)
                except catalogue.FaultError as refused:
                    advised = int(str(refused).rpartition(" ")[2])
                    assert advised > ranks
                    assert scenario(kind, advised)
