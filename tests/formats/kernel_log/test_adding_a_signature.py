"""The worked example of a log signature that CONTRIBUTING shows does what the page says."""

from pathlib import Path

import pytest

from rankscope.formats.kernel_log import signatures
from rankscope.vocabulary import events, tables

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.fixture
def signature():
    (only,) = tables.rows(
        signatures.KernelSignature,
        (EXAMPLES / "kernel_log_signature.toml").read_text(),
        "signature",
    )
    return only


def test_it_recognises_its_line_and_names_the_device(signature):
    line = (EXAMPLES / "kernel_log_signature.log").read_text().strip()
    fault = signature.read(line)
    assert ("nvme.controller_down", "root", "nvme3", line) == (
        fault.signature, fault.role, fault.device, fault.text,
    )  # fmt: skip


def test_it_passes_over_other_lines_of_the_same_driver(signature):
    assert signature.read("nvme nvme0: 32/0/0 default/read/poll queues") is None


def test_its_role_is_one_of_the_contract_and_its_name_is_free(signature):
    assert signature.role in events.catalogue()["log.fault"].values["role"]
    assert signature.name not in {one.name for one in signatures.catalogue()}
