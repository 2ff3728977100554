"""What can be at fault, its id and its words."""

import pytest

from rankscope.vocabulary import entities
from rankscope.vocabulary.entities import Entity


@pytest.mark.parametrize(
    ("entity", "identity", "words"),
    [
        (entities.job("run-1", (0, 1)), ("job", "run-1", None, (0, 1)), "job run-1"),
        (entities.rank(37, "gpu-12"), ("rank", "37", "gpu-12", (37,)), "rank 37 on gpu-12"),
        (entities.rank(37), ("rank", "37", None, (37,)), "rank 37"),
        (entities.host("gpu-12", (3, 1)), ("host", "gpu-12", "gpu-12", (1, 3)), "host gpu-12"),
        (entities.gpu("GPU-a1", "gpu-12", (9, 8)), ("gpu", "GPU-a1", "gpu-12", (8, 9)),
         "gpu GPU-a1 on gpu-12"),
        (entities.process("gpu-12", 42, (3,)), ("process", "gpu-12:42", "gpu-12", (3,)),
         "process gpu-12:42"),
        (Entity("nic", "gpu-12/mlx5_0:1", "gpu-12"), ("nic", "gpu-12/mlx5_0:1", "gpu-12", ()),
         "nic gpu-12/mlx5_0:1"),
        (Entity("storage", "gpu-12:/scratch", "gpu-12"),
         ("storage", "gpu-12:/scratch", "gpu-12", ()), "storage gpu-12:/scratch on gpu-12"),
    ],
)  # fmt: skip
def test_ids_are_written_as_the_contract_says_and_read_as_people_speak(entity, identity, words):
    assert identity == (entity.type, entity.id, entity.host, tuple(entity.ranks))
    assert words == str(entity)


def test_an_entity_is_shown_with_its_ranks_as_a_list():
    assert {"type": "rank", "id": "3", "host": "a", "ranks": [3]} == (
        entities.rank(3, "a").document()
    )


def test_entities_can_be_told_apart_ordered_and_collected():
    one, same, other = entities.rank(1, "a"), entities.rank(1, "a"), entities.rank(2, "a")
    assert one == same != other
    assert [one, other] == sorted({other, one, same})


def test_the_types_are_those_of_the_contract():
    assert set(entities.ENTITY_TYPES) == {
        "job", "rank", "gpu", "host", "nic", "switch", "group", "process", "storage", "code",
    }  # fmt: skip
