"""Fault codes that the job's devices report, and the fault that each of them names."""

import pytest

from rankscope.detectors.hardware.fault_codes import FaultCodesDetector
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates the events of a job of four ranks."""
    return lambda **fields: FaultCodesDetector().evaluate(sketch(steady(), **fields))


def test_a_fault_code_accuses_the_device_at_its_second(evaluated, event):
    xid = event("gpu.fault", 31.5, rank=2, code="79", text="GPU has fallen off the bus")

    finding, lost = evaluated(events=(xid,))

    assert ("gpu.fault_event", "GPU-2", "host-1", (2,)) == (
        finding.kind, finding.entity.id, finding.entity.host, tuple(finding.entity.ranks),
    )  # fmt: skip
    assert (START + 31.5, START + 31.5) == finding.onset
    assert "79" == finding.observed
    assert finding.text.endswith("79 GPU has fallen off the bus")
    assert ("gpu.lost", "GPU-2", finding.onset) == (lost.kind, lost.entity.id, lost.onset)


def test_a_fault_code_without_a_text_reads_well(evaluated, event):
    (finding,) = evaluated(events=(event("gpu.fault", 1, rank=0, code="SXID 20034"),))
    assert "gpu GPU-0 on host-0 reported SXID 20034" == finding.text


@pytest.mark.parametrize("rank", [None, 9, "1"])
def test_a_fault_of_a_device_that_no_rank_uses_is_not_the_jobs(evaluated, event, rank):
    pairs = {} if rank is None else {"rank": rank}
    assert [] == evaluated(events=(event("gpu.fault", 31.5, code="79", **pairs),))


def test_a_fault_on_a_rank_without_a_known_device_names_nothing(evaluated, event):
    fault = event("gpu.fault", 31.5, rank=2, code="79")
    assert [] == evaluated(events=(fault,), hw_ids=(None,) * 4)


@pytest.mark.parametrize(
    ("fault_class", "accuses"),
    [
        ("fatal", True),
        ("degraded", True),
        ("unknown", True),
        ("application", False),
        ("info", False),
    ],
)
def test_a_code_of_an_applications_error_accuses_no_device(evaluated, event, fault_class, accuses):
    fault = event("gpu.fault", 31.5, rank=2, code="13", **{"class": fault_class})
    assert accuses == bool(evaluated(events=(fault,)))


def test_other_events_are_not_device_faults(evaluated, event):
    assert [] == evaluated(events=(event("process.exit", 31.5, rank=2, exit_code=1),))


def test_an_xid_of_the_node_s_earlier_tenant_does_not_count(steady, event):
    old = event("gpu.fault", -600, job=None, rank=2, code="79")
    window = sketch(steady(), events=(old,), attempt_started_at=START - 20)
    assert [] == FaultCodesDetector().evaluate(window)
    foreign = event("gpu.fault", -5, job=None, rank=2, code="31", pid=77)
    assert [] == FaultCodesDetector().evaluate(sketch(steady(), events=(foreign,)))
    during = event("gpu.fault", 30, job=None, rank=2, code="79", pid=1002)
    window = sketch(steady(), events=(old, during), attempt_started_at=START - 20)
    assert [START + 30] == sorted({f.onset[0] for f in FaultCodesDetector().evaluate(window)})


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("79", "gpu.lost"),
        ("pci.gone", "gpu.lost"),
        ("119", "gpu.firmware_hung"),
        ("120", "gpu.firmware_hung"),
        ("48", "gpu.memory_error"),
        ("95", "gpu.memory_error"),
        ("64", "gpu.row_remap_failed"),
        ("row_remap.pending", "gpu.row_remap_pending"),
        ("74", "gpu.nvlink_down"),
        ("nvml.hung", "gpu.call_hung"),
    ],
)
def test_a_code_names_its_fault(evaluated, event, code, kind):
    fault = event("gpu.fault", 31.5, rank=2, code=code)
    assert ["gpu.fault_event", kind] == [f.kind for f in evaluated(events=(fault, fault))]


@pytest.mark.parametrize("code", ["13", "31", "43"])
def test_an_applications_code_accuses_no_device_whoever_reports_it(evaluated, event, code):
    assert [] == evaluated(events=(event("gpu.fault", 31.5, rank=2, code=code),))


def test_an_unknown_code_is_a_fault_event_and_names_nothing_more(evaluated, event):
    fault = event("gpu.fault", 31.5, rank=2, code="ascend.80e3a201", **{"class": "fatal"})
    assert ["gpu.fault_event"] == [f.kind for f in evaluated(events=(fault,))]


@pytest.mark.parametrize(
    ("code", "kind"), [("XID 119", "gpu.firmware_hung"), ("xid:79", "gpu.lost")]
)
def test_a_word_before_the_number_changes_nothing(evaluated, event, code, kind):
    findings = evaluated(events=(event("gpu.fault", 31.5, rank=2, code=code),))
    assert ["gpu.fault_event", kind] == [finding.kind for finding in findings]


def test_an_application_s_code_accuses_no_device_whatever_stands_before_it(evaluated, event):
    assert [] == evaluated(events=(event("gpu.fault", 31.5, rank=2, code="XID 13"),))


def test_a_code_that_the_driver_calls_propagated_counts_less_than_the_primary_one(evaluated, event):
    """GPU Operational Events: which error began it, and which followed."""
    found = evaluated(
        events=(
            event("gpu.fault", 31, rank=1, code="94"),
            event("gpu.fault", 32, rank=2, code="74"),
            event("gpu.operational_event", 31, rank=1, code="94", role="propagated"),
            event("gpu.operational_event", 32, rank=2, code="74", role="primary"),
        )
    )
    assert {(one.kind, one.entity.id): one.score for one in found} == {
        ("gpu.fault_event", "GPU-1"): 1.0,
        ("gpu.memory_error", "GPU-1"): 1.0,
        ("gpu.fault_event", "GPU-2"): 3.0,
        ("gpu.nvlink_down", "GPU-2"): 3.0,
    }
    assert found[0].text.endswith("; the driver marks it as propagated from another error")
    assert found[-1].text.endswith("; the driver marks it as the primary error")


def test_the_drivers_word_alone_is_no_fault(evaluated, event):
    primary = event("gpu.operational_event", 32, rank=2, code="74", role="primary")
    assert [] == evaluated(events=(primary,))
