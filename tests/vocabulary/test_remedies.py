"""The table of remedies: what may act, how small, and how sure."""

import pytest

from rankscope.vocabulary import faults, remedies
from rankscope.vocabulary.remedies import REMEDY_KINDS

ROWS = list(remedies.catalogue().values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.fault)
def test_a_row_is_of_a_fault_that_an_action_can_reach(row):
    kind = faults.catalogue()[row.fault]
    assert row.actions, "a row without an action says nothing"
    assert {*row.actions} <= {*REMEDY_KINDS}
    if "exclude_device" in row.actions:
        assert "gpu" in kind.entities
    if "exclude_node" in row.actions:
        assert {*kind.entities} & {"gpu", "host", "nic"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.fault)
def test_the_larger_an_action_the_surer_its_cause(row):
    assert 0.9 <= row.min_probability < 1
    if "exclude_node" in row.actions:
        assert row.min_probability >= 0.95


def test_what_nobody_knows_is_never_acted_on():
    assert faults.UNKNOWN not in remedies.catalogue()
