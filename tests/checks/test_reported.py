"""Results of other tools: their own verdicts count, and their values are compared as ours are."""

import pytest

from rankscope.checks import judging, reported
from rankscope.checks.judging import ComparedValues, JudgedCheck
from rankscope.vocabulary.checks import ReportedCheck


def value(host, number, *, device="", together=False, better="more"):
    return ReportedCheck(
        check="tool_compute", tool="bench 1", host=host, device=device, reason="gemm", value=number,
        unit="By/s", kind="gemm", together=together, better=better,
    )  # fmt: skip


def test_a_verdict_of_a_tool_counts_and_its_words_are_the_reason():
    row = ReportedCheck(
        check="tool_memory", tool="dcgmi diag 4.2.3", device="GPU 3", verdict="failed", reason="bad"
    )
    (made,) = reported.judged([row])[""]
    assert JudgedCheck(
        "tool_memory", "GPU 3", None, "", "failed", "dcgmi diag 4.2.3: bad"
    ) == made  # fmt: skip


@pytest.mark.parametrize(("better", "slow"), [("more", "node-0"), ("less", "node-6")])
def test_a_value_is_compared_with_those_of_the_other_hosts_in_the_report(better, slow):
    numbers = {f"node-{n}": number for n, number in enumerate([70, *[100] * 5, 130])}
    rows = [value(host, number, better=better) for host, number in numbers.items()]
    judged = reported.judged(rows)
    verdicts = {host: rows[0].verdict for host, rows in judged.items()}
    assert {slow} == {host for host, verdict in verdicts.items() if verdict == "slow"}
    assert "bench 1: gemm: 30% " in judged[slow][0].reason
    assert "6 other hosts in the report" == judged[slow][0].compared_with


def test_devices_of_one_host_are_not_compared_with_one_another():
    (rows,) = reported.judged(
        [value("node-0", 100.0 - 50 * (n == 3), device=f"GPU {n}") for n in range(8)]
    ).values()
    assert {"not_measured"} == {row.verdict for row in rows}


def test_one_value_of_several_hosts_is_compared_with_the_fleet_alone():
    rows = [value(f"node-{n}", 60.0, together=True) for n in range(8)]
    assert {"not_measured"} == {made[0].verdict for made in reported.judged(rows).values()}
    fleet = {
        row.host: lambda _check, _kind: ComparedValues((100.0,) * 5, "5 hosts") for row in rows
    }
    (made,) = reported.judged(rows, fleet=fleet)["node-0"]
    assert ("slow", "5 hosts") == (made.verdict, made.compared_with)


def test_of_several_results_of_a_device_under_one_check_the_worst_stands_for_all():
    def one(verdict, device="GPU 0"):
        return JudgedCheck("tool_compute", device, None, "", verdict, verdict)

    made = judging.worst([one("pass"), one("failed"), one("slow"), one("not_measured", "GPU 1")])
    assert [("GPU 0", "failed"), ("GPU 1", "not_measured")] == [
        (row.device, row.verdict) for row in made
    ]
