"""Reports of other tools beside the logs of a job: evidence of the device that they name."""

import json
from pathlib import Path

import pytest
from tests.formats.flight_recorder.recorder import dump, operation

CAPTURES = Path(__file__).parents[3] / "formats" / "check_reports" / "captures"


@pytest.fixture
def hung(tmp_path):
    """Return what four ranks on two hosts left: rank 2 never entered the collective."""
    for rank in range(4):
        behind = rank == 2
        (tmp_path / f"trace_rank_{rank}").write_bytes(
            dump(7, 7) if behind else dump(8, 7, [operation(8)])
        )
        host = f"gpu-{rank // 2}"
        (tmp_path / f"rank{rank}.log").write_text(
            f"{host}:{100 + rank}:{100 + rank} [{rank % 2}] NCCL INFO ncclCommInitRank comm 0x55d0 "
            f"rank {rank} nranks 4 cudaDev {rank % 2} nvmlDev {rank % 2} "
            f"busId {0x1B + rank % 2:x}000 commId 0x9a1 - Init COMPLETE\n"
            "step 1 loss 3.1\nstep 2 loss 3.0\n"
        )
    return tmp_path


def diagnostic(*results):
    rows = [
        {"entity_group": "GPU", "entity_id": number, "status": status}
        | ({"warnings": [{"warning": "GPU is gone", "error_id": 120}]} if status == "Fail" else {})
        for number, status in results
    ]
    tests = [{"name": "memory", "results": rows}]
    categories = [{"category": "Hardware", "tests": tests}]
    root = {"test_categories": categories}
    return json.dumps({"DCGM Diagnostic": root, "metadata": {"version": "4.2.3"}}, indent=1)


def scores(found):
    rows = found.incident["root_cause"]["hypotheses"]
    return {row["fault"]: row["score"] for row in rows}, {
        row["fault"]: row["entity"] for row in rows
    }


def test_a_diagnostic_of_dcgm_is_evidence_of_the_device_behind_its_number(hung, explain):
    without, _ = scores(explain(hung))
    (hung / "dcgm-gpu-1.json").write_text(diagnostic((0, "Fail"), (1, "Pass")))
    found = explain(hung)
    after, entities = scores(found)
    assert "gpu.lost" not in without
    assert after["gpu.lost"] > 0
    assert ("pci:0000:1b:00.0", "gpu-1") == (
        entities["gpu.lost"]["id"],
        entities["gpu.lost"]["host"],
    )
    assert "dcgmi diag 4.2.3: 1 failed, 1 pass" == found.found.read["dcgm-gpu-1.json"]
    (quote,) = [row for row in found.found.quotes if row.signature == "check.result"]
    assert ("gpu-1", "confirmation") == (quote.host, quote.role)


def test_of_two_reports_of_one_device_each_has_its_own_results(hung, explain):
    (hung / "dcgm-gpu-1.json").write_text(diagnostic((0, "Pass")))
    (hung / "dcgm-gpu-1-again.json").write_text(diagnostic((0, "Skip")))
    found = explain(hung).found
    assert ["dcgmi diag 4.2.3: 1 pass", "dcgmi diag 4.2.3: 1 not measured"] == [
        found.read[name] for name in ("dcgm-gpu-1.json", "dcgm-gpu-1-again.json")
    ]


def test_a_report_that_was_cut_off_is_said_with_where(hung, explain):
    (hung / "dcgm-gpu-1.json").write_text(diagnostic((0, "Fail"))[:-20])
    unread = explain(hung).found.unread["dcgm-gpu-1.json"]
    assert unread.startswith("a report of checks: line ")
    assert unread.endswith("it was cut off")


def test_sniff_tests_in_a_rank_s_log_are_results_of_the_ranks_that_they_name(hung, explain):
    log = hung / "rank0.log"
    lines = "  GEMM throughput (8192x8192x8192, bf16) [TFLOP/s/GPU]: median=626.12, mean=6, min=5\n"
    log.write_text(log.read_text() + lines + "    OUTLIER rank 2 (gpu-1): 512.30 (-18.2%)\n")
    (event,) = [one for one in explain(hung).found.events if one.name == "check.result"]
    assert ("gpu-1", "tool_compute", "slow") == (
        event.resource.host, event.attributes["check"], event.attributes["verdict"],
    )  # fmt: skip
    assert "rank 2" == event.attributes["device"]


def test_values_of_several_reports_are_compared_with_one_another(tmp_path, explain):
    table = (CAPTURES / "nccl-tests-2.10-alltoall-wrong.log").read_text().replace("8e+03", "0")
    table = table.replace("1 FAILED", "0 OK")
    for number in range(7):
        slower = table.replace("11.18 ", "6.02  ") if number == 4 else table
        (tmp_path / f"nccl-{number}.log").write_text(slower.replace("astro1", f"node-{number}"))
    found = explain(tmp_path).found
    assert ["node-4"] == [text.partition(":")[0] for text in found.failed_checks]
    assert "6 other hosts in the report" in {
        one.attributes.get("compared_with") for one in found.events
    }
