"""Pages of exporters among what a dead job left, or alone."""

import os

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


@pytest.mark.parametrize("comment", ["# TYPE node_vmstat_oom_kill counter\n", ""])
def test_a_count_of_kills_that_stands_at_zero_is_no_kill(saved, explain, comment):
    of_disk = 'node_filesystem_avail_bytes{device="/dev/sda1",fstype="ext4"} 3.1e+11\n'
    diagnosis = explain(saved(of_disk + comment + "node_vmstat_oom_kill 0\n"))
    assert None is diagnosis.document()
    said = "a page of metrics, none of them of a device that is known"
    assert {"page.prom": said} == diagnosis.found.read


@pytest.mark.parametrize("line", ['loss{step="5"} 0.3', 'step {"a": 1} 5', "gpu_health 1", "a b 5"])
def test_a_log_with_numbers_is_a_log(line):
    assert "log" == kinds._kind(f"{line}\nmore\n".encode())


@pytest.mark.parametrize("line", ['amd_gpu_health{gpu_id="2', "Connection closed", '{"a": 1} x'])
def test_a_page_with_a_torn_or_foreign_line_names_the_failed_device_all_the_same(saved, line):
    found = gather([saved(amd([1, 0]) + line)], TelemetryResource("", job="job", attempt=0))
    assert [3] == [quote.line for quote in found.quotes]


def test_a_failed_device_whose_memory_had_uncorrected_errors_failed_for_these(saved, explain):
    count = 'amd_gpu_ecc_uncorrect_umc{{gpu_id="{0}",gpu_uuid="{1}",hostname="vm-1"}} {2}\n'
    counts = "".join(count.format(index, NIL, value) for index, value in enumerate((2, 2)))
    diagnosis = explain(saved(amd([1, 0]) + counts))
    first = diagnosis.incident["root_cause"]["hypotheses"][0]
    assert ("gpu.memory_uncorrectable", "amd-1") == (first["fault"], first["entity"]["id"])
    assert None is explain(saved(amd([1, 1]) + counts)).incident


def dcgm(busy, power):
    """Return a page without limits of power; busy, power: by index."""
    series = '{}{{gpu="{}",UUID="GPU-0000000{}",Hostname="n-1",modelName="A100"}} {}\n'
    rows = {"DCGM_FI_DEV_GPU_UTIL": busy, "DCGM_FI_DEV_POWER_USAGE": power}
    return "".join(
        series.format(name, index, index, value)
        for name, values in rows.items()
        for index, value in enumerate(values)
    )


@pytest.mark.parametrize("written", [1778673600.0, 1778673600.1875858, 1778673600.99999])
def test_pages_alone_show_the_device_for_which_all_others_wait(saved, explain, written):
    for name in ("a.prom", "b.prom"):
        saved(dcgm([100, 100, 0, 100], [92, 90, 61, 95]), name)
    os.utime(saved("", "c.txt") / "a.prom", (written, written))
    os.utime(saved("", "c.txt") / "b.prom", (written + 0.0003, written + 0.0003))
    diagnosis = explain(saved("", "c.txt"))
    assert ["2"] == [diagnosis.incident["root_cause"]["hypotheses"][0]["entity"]["id"]]


def test_pages_of_devices_that_work_beside_a_free_one_are_quiet(saved, explain):
    assert None is explain(saved(dcgm([100, 100, 0, 100], [300, 310, 61, 295]))).incident


def test_a_kernel_log_without_a_host_is_of_the_host_of_the_page_beside_it(saved, explain):
    saved("[Wed May 13 12:00:09 2026] NVRM: Xid (PCI:0000:21:00): 79, pid=7, GPU has fallen off\n",
          "dmesg.txt")  # fmt: skip
    diagnosis = explain(saved(dcgm([100, 0], [90, 60])))
    assert "n-1" == diagnosis.incident["root_cause"]["hypotheses"][0]["entity"]["host"]
