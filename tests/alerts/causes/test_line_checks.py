"""The next check where a line of a log is all that is known."""

from dataclasses import replace

import pytest
from tests.alerts.explaining import explain

from rankscope.alerts.causes import line_checks
from rankscope.formats.training_logs import signatures


@pytest.mark.parametrize(
    ("signature", "asks"),
    [
        ("stack.collective", "stacks of all ranks"),
        ("log.takes_longer", "slow stretch"),
        ("nccl.ib_completion_error", "counters and the state of the port"),
        ("nccl.watchdog_timeout", "logs of all ranks"),
        ("slurm.job_ended", "Ask Slurm"),
        ("kubernetes.pod_failed", "Ask Kubernetes"),
        ("python.exception", "lines above"),
    ],
)
def test_the_line_says_what_to_look_at(topology, found, signature, asks):
    line = replace(found("job.fault_logged", topology.job_entity), observed=signature)
    first, *others = explain([line], topology).next_checks
    assert asks in first.text
    assert not others


def test_a_check_of_all_ranks_names_no_process(topology, found):
    line = replace(found("job.fault_logged", topology.job_entity), observed="stack.collective")
    (check,) = explain([line], topology).next_checks
    assert "py-spy dump --pid <pid>" == check.command


def test_a_named_cause_keeps_the_checks_of_its_own(topology, found):
    rows = [
        replace(found("job.fault_logged", topology.job_entity), observed="driver.too_old"),
        found("job.start_refused", topology.job_entity),
    ]
    cause = explain(rows, topology)
    assert "software.init_failed" == cause.hypotheses[0].fault
    assert not any("lines above" in check.text for check in cause.next_checks)


def test_every_signature_has_a_check():
    for signature in signatures.catalogue():
        assert any(row.signatures.fullmatch(signature.name) for row in line_checks.rows())
