"""Groups: the same name on every member, whatever torch calls them there."""

import pytest

from rankscope.vocabulary.groups import ProcessGroup


@pytest.mark.parametrize(
    ("desc", "kind"),
    [
        ("default_pg", "world"),
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("EXPERT_DATA_PARALLEL_GROUP", "ep"),
        ("mesh_dp", "dp"),
        ("mesh_tp", "tp"),
        ("undefined", "other"),
        ("", "other"),
    ],
)
def test_the_kind_is_read_from_what_frameworks_write(desc, kind):
    assert kind == ProcessGroup(desc, (0, 1)).kind
    assert ProcessGroup(desc, (0, 1)).name.startswith(f"{kind}:")


def test_the_name_depends_on_ranks_and_description_only():
    assert ProcessGroup("a", (0, 1)).name == ProcessGroup("a", (0, 1)).name
    assert 3 == len(
        {
            ProcessGroup("a", (0, 1)).name,
            ProcessGroup("b", (0, 1)).name,
            ProcessGroup("a", (0, 2)).name,
        }
    )


def test_a_group_is_described_with_its_ranks_spelled_short():
    labels = dict(ProcessGroup("default_pg", tuple(range(0, 1024, 8))).info(5.0).attributes)
    assert ("world", 128, "0-1016:8") == (labels["kind"], labels["size"], labels["ranks"])
