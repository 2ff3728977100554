import pytest

from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, NicPort, RankPlacement


@pytest.fixture
def topology() -> JobTopology:
    """Return four ranks on two hosts of one leaf switch, and rank 9 that nobody placed."""
    return JobTopology(
        Job("run-1"),
        placements=[
            RankPlacement(0, "host-a", 0, 100, "GPU-0"),
            RankPlacement(1, "host-a", 1, 101, "GPU-1"),
            RankPlacement(2, "host-b", 0, 100, "GPU-2"),
            RankPlacement(3, "host-b", 1, 101, "GPU-3"),
            RankPlacement(9),
        ],
        switches={"host-a": "leaf-1", "host-b": "leaf-1"},
        nics=[NicPort("host-a", "mlx5_0", "1", gpu="GPU-1"), NicPort("host-b", "mlx5_0", "1")],
        groups=[CommunicationGroup("dp:1", "dp", RankSet((0, 2)))],
    )


def test_rows_are_found_by_rank_by_process_and_by_device(topology):
    assert (2, None) == (topology.row(2), topology.row(7))
    assert (2, 3) == (
        topology.rank_of_pid("host-b", 100),
        topology.rank_of_device("host-b", "GPU-3"),
    )
    assert ("host-b", None) == (topology.host(3), topology.host(9))


def test_entities_carry_the_ranks_that_are_placed_on_them(topology):
    assert [2, 3] == list(topology.host_entity("host-b").ranks)
    assert [0, 1, 2, 3] == list(topology.switch_entity("leaf-1").ranks)
    assert [1] == list(topology.nic_entity(topology.nics[0]).ranks)
    assert [2, 3] == list(topology.nic_entity(topology.nics[1]).ranks)
    assert [0, 2] == list(next(g for g in topology.groups if g.name == "dp:1").entity.ranks)


@pytest.mark.parametrize(
    ("entity", "kind", "ids"),
    [
        (Entity("rank", "3", "host-b", RankSet((3,))), "gpu", ["GPU-3"]),
        (Entity("rank", "9", None, RankSet((9,))), "gpu", []),
        (Entity("gpu", "GPU-0", "host-a", RankSet((0,))), "host", ["host-a"]),
        (Entity("host", "host-a", "host-a", RankSet((0, 1))), "switch", ["leaf-1"]),
        (Entity("group", "dp:1", None, RankSet((0, 2))), "host", []),
        (Entity("host", "host-a", "host-a"), "job", ["run-1"]),
    ],
)
def test_an_entity_is_seen_as_another_type_where_the_layout_says_which(topology, entity, kind, ids):
    assert ids == [other.id for other in topology.as_type(entity, kind)]


def test_with_a_switch_a_rail_each_port_of_a_host_says_what_it_hangs_on():
    hosts = ("host-a", "host-b", "host-c")
    rails = JobTopology(
        Job("run-1"),
        placements=[
            RankPlacement(rank, host, rank % 2, 100 + rank, f"GPU-{rank}")
            for rank, host in enumerate(host for host in hosts for _ in range(2))
        ],
        switches={"host-c": "leaf-7"},
        nics=[
            NicPort(
                host, f"mlx5_{rail}", "1", switch=f"rail-{rail}", gpu=f"GPU-{2 * number + rail}"
            )
            for number, host in enumerate(hosts)
            for rail in range(2)
        ],
    )
    assert {"rail-0": ("host-a", "host-b"), "rail-1": ("host-a", "host-b"), "leaf-7": ("host-c",)} \
        == dict(rails.hosts_of_switch), "what is said of a host holds for its ports"  # fmt: skip
    assert [1, 3] == list(rails.switch_entity("rail-1").ranks)
    port = rails.nic_entity(rails.nics[1])
    assert ["rail-1"] == [switch.id for switch in rails.as_type(port, "switch")]
    assert () == rails.as_type(rails.host_entity("host-a"), "switch"), "it hangs on two"
