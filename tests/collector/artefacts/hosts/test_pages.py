"""Pages of exporters among what a dead job left, or alone."""

import pytest

from rankscope.collector.artefacts import kinds
from rankscope.collector.artefacts.kinds import gather
from rankscope.vocabulary.samples import TelemetryResource

NIL = "00000000-0000-0000-0000-000000000000"


def amd(health):
    """Return a page of a VM in which all devices have the nil UUID; `health` by index."""
    return "# TYPE amd_gpu_health gauge\n" + "".join(
        f'amd_gpu_health{{gpu_id="{index}",gpu_uuid="{NIL}",gpu_partition_id="4294967295",'
        f'serial_number="",hostname="vm-1"}} {value}\n'
        for index, value in enumerate(health)
    )


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a page and returns its folder."""

    def save(text, name="page.prom"):
        (tmp_path / name).write_text(text)
        return tmp_path

    return save


def test_a_page_alone_names_the_device_that_its_exporter_calls_failed(saved, explain):
    diagnosis = explain(saved(amd([1, 0])))
    first = diagnosis.incident["root_cause"]["hypotheses"][0]
    assert "unknown" == first["fault"]
    assert "gpu amd-1 on vm-1" in diagnosis.incident["summary"]
    (quote,) = diagnosis.found.quotes
    assert (quote.line, quote.text) == (3, amd([1, 0]).splitlines()[2])


def test_a_healthy_page_is_no_fault_and_says_what_it_held(saved, explain):
    diagnosis = explain(saved(amd([1, 1])))
    assert None is diagnosis.incident
    said = "a page of device-metrics-exporter: 2 devices of vm-1"
    assert {"page.prom": said} == diagnosis.found.read


def test_beside_a_jobs_log_a_page_accuses_nobody(saved):
    saved("[rank0]: RuntimeError: boom\n", "rank0.log")
    found = gather([saved(amd([1, 0]))], TelemetryResource("", job="job", attempt=0))
    assert ["confirmation"] == [one.role for one in found.quotes if one.file == "page.prom"]
    assert "vm-1" not in {event.resource.host for event in found.events}


@pytest.mark.parametrize("line", ['loss{step="5"} 0.3', 'step {"a": 1} 5', "gpu_health 1", "a b 5"])
def test_a_log_with_numbers_is_a_log(line):
    assert "log" == kinds._kind(f"{line}\nmore\n".encode())


@pytest.mark.parametrize("line", ['amd_gpu_health{gpu_id="2', "Connection closed", '{"a": 1} x'])
def test_a_page_with_a_torn_or_foreign_line_names_the_failed_device_all_the_same(saved, line):
    found = gather([saved(amd([1, 0]) + line)], TelemetryResource("", job="job", attempt=0))
    assert [3] == [quote.line for quote in found.quotes]
