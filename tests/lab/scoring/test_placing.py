"""Which entity is the right one: the true one, one that lies on it, or one that contains it."""

import dataclasses
import json

import pytest

from rankscope.lab.scoring import placing
from rankscope.lab.scoring.seen import truth as read_truth
from rankscope.vocabulary import entities
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ranks import RankSet

GPU = entities.gpu("GPU-3", "gpu-00", (3,))
RANK = entities.rank(3, "gpu-00")
HOST = entities.host("gpu-00", range(8))
NIC = Entity("nic", "gpu-00/mlx5_0:1", "gpu-00", RankSet(range(4)))
JOB = entities.job("train", range(16))
STAGE = Entity("group", "pp:1", None, RankSet(range(4, 8)))
SWITCH = Entity("switch", "leaf-0", None, RankSet(range(16)))
SHARED = Entity("storage", "/data", None, RankSet(range(16)))


@pytest.mark.parametrize(
    ("named", "true"),
    [
        (GPU, GPU),
        (RANK, GPU),
        (GPU, RANK),
        (HOST, GPU),
        (RANK, HOST),
        (entities.process("gpu-00", 77, (3,)), RANK),
        (RANK, NIC),
        (JOB, JOB),
        (Entity("code", "train"), JOB),
        (STAGE, STAGE),
        (entities.rank(5, "gpu-00"), STAGE),
        (SWITCH, SWITCH),
        (Entity("storage", "gpu-00:/data", "gpu-00"), SHARED),
    ],
)
def test_an_entity_on_the_true_one_or_around_it_is_right(named, true):
    assert placing.placed(named, true)


@pytest.mark.parametrize(
    ("named", "true"),
    [
        (None, GPU),
        (entities.gpu("GPU-4", "gpu-00", (4,)), GPU),
        (entities.rank(4, "gpu-00"), GPU),
        (entities.host("gpu-01", range(8, 16)), GPU),
        (JOB, GPU),
        (RANK, JOB),
        (entities.job("other"), JOB),
        (RANK, STAGE),
        (HOST, SWITCH),
        (entities.rank(6, "gpu-00"), NIC),
        (HOST, SHARED),
    ],
)
def test_a_neighbour_or_the_whole_job_is_not(named, true):
    assert not placing.placed(named, true)


def test_only_the_same_type_and_id_are_exact():
    assert placing.exact(entities.gpu("GPU-3", None), GPU)
    assert not placing.exact(RANK, GPU)
    assert not placing.exact(None, GPU)


def test_of_an_unknown_cause_the_ranks_that_stand_out_count(incident, truth):
    on_job = {"fault": "unknown", "entity": JOB}
    assert placing.right(incident(**on_job, standing_out=RankSet((3,))), truth())
    assert not placing.right(incident(**on_job, standing_out=RankSet((3, 4))), truth())
    assert not placing.right(incident(**on_job), truth())


def test_ranks_that_stand_out_do_not_help_a_cause_that_is_named(incident, truth):
    named = incident(fault="network.congestion", entity=JOB, standing_out=RankSet((3,)))
    assert not placing.right(named, truth())


def test_naming_another_node_accuses_a_healthy_one(incident, truth):
    other = entities.host("gpu-01", range(8, 16))
    assert placing.accuses(incident(entity=other), truth())
    assert placing.accuses(incident(entity=entities.rank(4, "gpu-00")), truth())


def test_naming_a_node_of_a_healthy_job_or_for_a_fault_of_the_whole_job_accuses(incident, truth):
    assert placing.accuses(incident(entity=RANK), None)
    assert placing.accuses(incident(entity=RANK), truth("network.congestion", JOB))


def test_the_true_entity_the_ranks_it_affects_and_the_job_are_no_accusation(incident, truth):
    assert not placing.accuses(incident(entity=RANK), truth())
    assert not placing.accuses(incident(entity=JOB), truth())
    assert not placing.accuses(incident(entity=None), truth())
    assert not placing.accuses(incident(entity=JOB), None)
    assert not placing.accuses(incident(entity=RANK), truth("network.switch", SWITCH))


@pytest.fixture
def rack(truth):
    """Return what is true of a rack of two hosts, which has no name of its own."""
    hosts = [entities.host(f"gpu-0{n}", range(8 * n, 8 * n + 8)) for n in (0, 1)]
    return dataclasses.replace(truth("gpu.thermal_throttle", hosts[0]), accepted=(hosts[1],))


def test_every_place_of_a_fault_at_several_is_right_and_no_other(rack, incident):
    for number in (0, 1):
        named = incident(entity=entities.gpu(f"GPU-{number}", f"gpu-0{number}", (8 * number,)))
        assert placing.right(named, rack)
        assert not placing.accuses(named, rack)
    other = incident(entity=entities.host("gpu-02", range(16, 24)))
    assert not placing.right(other, rack)
    assert placing.accuses(other, rack)


def test_the_places_of_a_fault_survive_a_file(rack):
    assert rack == read_truth(json.loads(json.dumps(rack.document())))
