"""Reports of other tools in their own forms, by version: what each says of which device."""

from pathlib import Path

import pytest

from rankscope.formats import check_reports
from rankscope.formats.check_reports import reading
from rankscope.formats.check_reports.errors import TornReportError, UnknownReportError
from rankscope.vocabulary.checks import catalogue

CAPTURES = Path(__file__).parent / "captures"
FILES = sorted(path.name for path in CAPTURES.iterdir())


STATUS_OF_TOMORROW = (
    b'{"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "memory", "results": ['
    b'{"entity_id": 3, "status": "Superb"}]}]}]}}'
)


def read(name):
    return reading.read((CAPTURES / name).read_bytes(), name)


def said(name):
    """Return host, device, check and verdict of each result."""
    return [(row.host, row.device, row.check, row.verdict) for row in read(name)]


@pytest.mark.parametrize("name", FILES)
def test_each_result_is_filed_under_a_check_of_the_table(name):
    rows = read(name)
    assert rows
    assert {row.check for row in rows} <= set(catalogue())
    assert all(row.tool and row.reason for row in rows)


@pytest.mark.parametrize("name", FILES)
def test_a_report_in_json_is_known_by_its_beginning_and_one_in_a_log_is_not(name):
    head = (CAPTURES / name).read_bytes()[:4096]
    assert name.endswith((".json", ".jsonl")) == check_reports.is_report(head)
    assert name.endswith((".json", ".jsonl")) or any(
        mark in head for mark in check_reports.LOG_MARKS
    )


def test_dcgm_3_2_names_gpus_in_a_text_and_a_warning_before_the_json_is_passed_over():
    assert [
        ("", "", "tool_software", "pass"),
        ("", "", "tool_software", "not_measured"),
        ("", "GPU 0", "tool_memory", "pass"),
        ("", "GPU 1", "tool_memory", "failed"),
    ] == said("dcgm-3.2-with-a-warning-before.json")


def test_dcgm_3_3_has_several_warnings_of_which_the_gravest_counts():
    assert [
        ("", "", "tool_software", "pass"),
        ("", "", "tool_memory", "pass"),
        ("", "GPU 0", "tool_host_link", "pass"),
        ("", "GPU 2", "tool_host_link", "slow"),
        ("", "GPU 0", "tool_power", "not_measured"),
        ("", "GPU 2", "tool_heat", "failed"),
    ] == said("dcgm-3.3-two-bad-gpus.json")


def test_dcgm_4_has_entities_and_a_pass_that_carries_an_error_is_no_measurement():
    assert [
        ("", "GPU 0", "tool_software", "pass"),
        ("", "GPU 1", "tool_software", "pass"),
        ("", "GPU 0", "tool_memory", "pass"),
        ("", "GPU 1", "tool_memory", "not_measured"),
        ("", "GPU 1", "tool_device", "failed"),
        ("", "", "tool_cpu", "pass"),
        ("", "GPU 0", "tool_compute", "slow"),
        ("", "GPU 0", "tool_node", "failed"),
    ] == said("dcgm-4.2-one-gpu-gone.json")
    assert {"dcgmi diag 4.2.3"} == {row.tool for row in read("dcgm-4.2-one-gpu-gone.json")}


def test_each_iteration_of_dcgm_counts():
    once = said("dcgm-4.2-one-gpu-gone.json")
    assert once + once == said("dcgm-4.2-two-iterations.json")


def test_a_diagnostic_that_did_not_run_says_nothing_of_the_node():
    (row,) = reading.read(
        b'{"DCGM Diagnostic": {"runtime_error": "another instance runs", "version": "4.2.3"}}'
    )
    assert ("not_measured", "it did not run: another instance runs") == (row.verdict, row.reason)


def test_nccl_tests_give_the_bandwidth_of_their_largest_size_for_every_host():
    rows = read("nccl-tests-2.17-two-hosts.log")
    assert ["gpu-1", "gpu-2"] == [row.host for row in rows]
    assert [466.66e9] * 2 == pytest.approx([row.value for row in rows])
    assert {("tool_network", None, True)} == {(r.check, r.verdict, r.together) for r in rows}
    assert "all_reduce_perf 8589934592 B float, 4 ranks of 2 hosts" in rows[0].kind


def test_an_older_table_has_empty_fields_and_wrong_elements_are_a_failure():
    wrong, value = read("nccl-tests-2.10-alltoall-wrong.log")
    assert ("tool_arithmetic", "failed", "astro1") == (wrong.check, wrong.verdict, wrong.host)
    assert "alltoall_perf of 2147483648 B over 2 ranks: 8000 elements are wrong" == wrong.reason
    assert "tool_device_links" == value.check
    assert pytest.approx(11.18e9) == value.value


def test_a_failure_of_nccl_is_one_of_the_host_that_says_so():
    (row,) = read("nccl-tests-failure.log")
    assert ("gpu-1", "tool_device_links", "failed") == (row.host, row.check, row.verdict)
    assert "unhandled cuda error" in row.reason


def test_nccl_tests_in_json_say_the_same_and_their_environment_is_not_kept():
    rows = read("nccl-tests-all-reduce.json")
    assert [
        ("gpu-1", "tool_arithmetic", "failed"), ("gpu-1", "tool_network", None),
        ("gpu-2", "tool_arithmetic", "failed"), ("gpu-2", "tool_network", None),
    ] == [(row.host, row.check, row.verdict) for row in rows]  # fmt: skip
    assert pytest.approx(352.25e9) == rows[1].value
    assert "PATH" not in repr(rows)


def test_superbench_gives_values_and_what_is_right_or_wrong_by_itself():
    rows = read("superbench-results-summary.jsonl")
    assert {"node-5": "GPU 1"} == {row.host: row.device for row in rows if row.verdict == "failed"
                                  and row.check == "tool_arithmetic"}  # fmt: skip
    (late,) = [row for row in rows if "return_code" in row.reason]
    assert ("node-6", "tool_network", "failed") == (late.host, late.check, late.verdict)
    gemm = [row for row in rows if row.kind == "SuperBench gemm-flops/fp16_tc_flops"]
    assert 14 == len(gemm)
    assert {("tool_compute", "{operation}/s")} == {(row.check, row.unit) for row in gemm}
    assert not [row for row in rows if "temperature" in row.reason]


def test_a_diagnosis_of_superbench_names_nodes_by_the_metrics_that_are_off():
    assert [
        ("node-1", "GPU 0", "tool_cpu", "slow"),
        ("node-3", "GPU 0", "tool_host_link", "not_measured"),
        ("node-3", "", "tool_host_link", "failed"),
        ("node-3", "GPU 1", "tool_compute", "slow"),
    ] == said("superbench-diagnosis-summary.jsonl")
    assert [
        ("node-1", "", "tool_node", "pass"), ("node-3", "GPU 0", "tool_host_link", "slow"),
    ] == said("superbench-diagnosis-summary-all.json")  # fmt: skip


def test_a_certification_accuses_the_nodes_that_it_names_and_no_other_of_their_group():
    assert [
        ("node-c", "", "tool_device_links", "failed"),
        ("node-b", "", "tool_device_links", "failed"),
        ("node-e", "", "tool_node", "failed"),
        ("node-a", "", "tool_node", "pass"),
        ("node-d", "", "tool_node", "pass"),
    ] == said("readiness-report.json")


def test_sniff_tests_name_the_ranks_that_are_slower_and_not_those_that_are_faster():
    assert [
        ("node107", "rank 3", "tool_compute", "slow"),
        ("node109", "rank 11", "tool_network", "slow"),
    ] == said("megatron-sniff-test.log")


@pytest.mark.parametrize("name", [name for name in FILES if "json" in name])
def test_json_that_was_cut_off_is_said_with_the_line(name):
    data = (CAPTURES / name).read_bytes().rstrip()
    with pytest.raises(TornReportError, match=r"line \d+: .*(cut off|ends here)|no JSON"):
        reading.read(data[: len(data) - 3].rstrip())


def test_a_table_that_was_cut_off_is_said_with_its_last_size():
    data = (CAPTURES / "nccl-tests-2.17-two-hosts.log").read_bytes()
    with pytest.raises(TornReportError, match=r"line \d+: the run of all_reduce_perf has no end"):
        reading.read(data[: data.index(b"# Out of bounds")])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b"hello\n", r"no report that is known \(dcgmi diag -j, .*it begins with 'hello'"),
        (b'{"DCGM Diagnostic": {"tests": []}}', "has no test_categories: is it of another version"),
        (b'{"DCGM Diagnostic": {"test_categories": 3}}', "test_categories is no list"),
        (
            STATUS_OF_TOMORROW,
            "test memory, GPU 3: status 'Superb' is not known",
        ),
        (b'{"DCGM Diagnostic": nothing}', "line 1, column 21: no JSON from here on"),
        (b"[" * 100_000 + b'"DCGM Diagnostic"', "nested too deep|no report that is known"),
        (b'{"failedNodes": 3, "categories": [], "result": "FAILED"}', "failedNodes is no list"),
        (
            b'{"nccl_version": 22804, "config": {"devices": []}, "args": ["all_reduce_perf"]}',
            "there are no results",
        ),
    ],
)
def test_what_cannot_be_read_says_what_is_wrong_and_where(data, said):
    with pytest.raises((TornReportError, UnknownReportError), match=said):
        reading.read(data)


def test_an_answer_of_ras_is_sent_to_who_reads_it():
    answer = b"NCCL version 2.24.3 compiled with CUDA 12.4\n\nJob summary\n===========\n"
    with pytest.raises(UnknownReportError, match="`rankscope diagnose` reads it"):
        reading.read(answer)
