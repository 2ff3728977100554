"""A topology as nodes and edges: every entity once, every edge between two of them."""

import pytest

from rankscope.collector.api.topology_graph import drawn
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, NicPort, RankPlacement


@pytest.fixture
def topology():
    return JobTopology(
        Job("run-1"),
        placements=[
            RankPlacement(0, "host-a", 0, 100, "GPU-0"),
            RankPlacement(1, "host-b", 0, 101, "GPU-1"),
            RankPlacement(2),
        ],
        switches={"host-b": "leaf-7", "elsewhere": "leaf-8"},
        nics=[
            NicPort("host-a", "mlx5_0", "1", switch="rail-0"),
            NicPort("host-b", "mlx5_0", "1", switch="rail-0", gpu="GPU-1"),
        ],
        groups=[CommunicationGroup("dp:abc", "dp", RankSet((0, 1)))],
        mounts={"/data": ("host-a", "host-b")},
    )


def test_every_entity_of_the_job_is_a_node(topology):
    nodes = [(node["type"], node["id"]) for node in drawn(topology)["nodes"]]
    assert len(nodes) == len(set(nodes))
    assert {
        ("job", "run-1"), ("host", "host-a"), ("host", "host-b"), ("switch", "leaf-7"),
        ("rank", "0"), ("rank", "1"), ("rank", "2"), ("gpu", "GPU-0"), ("gpu", "GPU-1"),
        ("nic", "host-a/mlx5_0:1"), ("nic", "host-b/mlx5_0:1"), ("switch", "rail-0"),
        ("group", "dp:abc"), ("storage", "/data"),
    } == set(nodes)  # fmt: skip


def test_every_relation_is_an_edge_between_nodes(topology):
    graph = drawn(topology)
    edges = {(e["from"]["id"], e["relation"], e["to"]["id"]) for e in graph["edges"]}
    assert {
        ("1", "member-of", "run-1"), ("1", "runs-on", "host-b"), ("1", "uses", "GPU-1"),
        ("GPU-1", "attached-to", "host-b"), ("host-b/mlx5_0:1", "attached-to", "host-b"),
        ("host-b", "uplink", "leaf-7"), ("host-a/mlx5_0:1", "uplink", "rail-0"),
        ("1", "member-of", "dp:abc"), ("host-a", "mounts", "/data"), ("2", "member-of", "run-1"),
    } <= edges  # fmt: skip
    assert ("host-b/mlx5_0:1", "uplink", "rail-0") not in edges, (
        "its host is said to hang on leaf-7"
    )
    nodes = {(node["type"], node["id"]) for node in graph["nodes"]}
    for edge in graph["edges"]:
        assert {(end["type"], end["id"]) for end in (edge["from"], edge["to"])} <= nodes


def test_a_rank_that_nobody_placed_belongs_to_its_job_only(topology):
    edges = [
        edge for edge in drawn(topology)["edges"] if edge["from"] == {"type": "rank", "id": "2"}
    ]
    assert ["member-of"] == [edge["relation"] for edge in edges]


def test_many_ranks_are_written_as_ranges():
    wide = JobTopology(Job("big"), placements=[RankPlacement(rank, "h") for rank in range(4096)])
    job, *_ = drawn(wide)["nodes"]
    assert ["0-4095"] == job["ranks"]


def test_down_to_hosts_a_job_runs_on_them_and_nothing_below_is_drawn(topology):
    graph = drawn(topology, ranks=False)
    assert {
        ("job", "run-1"), ("host", "host-a"), ("host", "host-b"), ("switch", "leaf-7"),
        ("group", "dp:abc"), ("storage", "/data"),
    } == {(node["type"], node["id"]) for node in graph["nodes"]}  # fmt: skip
    assert {
        ("run-1", "runs-on", "host-a"), ("run-1", "runs-on", "host-b"),
        ("host-b", "uplink", "leaf-7"), ("host-a", "mounts", "/data"),
        ("host-b", "mounts", "/data"),
    } == {(e["from"]["id"], e["relation"], e["to"]["id"]) for e in graph["edges"]}  # fmt: skip
