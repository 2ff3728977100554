"""Answers of RAS in a folder: who stands, who is late, who does not answer, and who is healthy."""

import json
import os
from datetime import UTC, datetime

import pytest
from tests.formats.nccl.test_ras import answer
from tests.formats.nccl.test_ras_text import ERRORS, HEAD, ROW, WARNINGS, place, told, unequal

BEGAN = 1_755_000_000.0


def behind(launched=60, others=70):
    return unequal(
        f"  7 ranks have launched up to operation {others}",
        f"  Rank 3 has launched up to operation {launched} -- {place(3)}")  # fmt: skip


@pytest.fixture
def answers(explain, tmp_path):
    """Return a function that diagnoses a folder of answers, a minute apart."""

    def run(*texts):
        for number, text in enumerate(texts):
            file = tmp_path / f"ras_{number}.txt"
            file.write_text(text)
            os.utime(file, (BEGAN + 60 * number,) * 2)
        return explain(tmp_path)

    return run


def first(diagnosis):
    return diagnosis.incident["root_cause"]["hypotheses"][0]


def test_a_healthy_answer_is_no_fault_and_says_so(answers):
    diagnosis = answers(told("OK"))
    assert None is diagnosis.incident
    assert (
        "answer of NCCL RAS, 1 communicator: all ranks answered, their counts agree"
        == (diagnosis.found.read["ras_0.txt"])
    )


def test_answers_are_listed_in_the_order_of_their_times(answers):
    diagnosis = answers(*[told("OK")] * 7)
    assert [f"ras_{number}.txt" for number in range(7)] == list(diagnosis.found.read)


@pytest.mark.parametrize("texts", [
    (behind(60), behind(70, 80)), (behind(60), told("OK")),
])  # fmt: skip
def test_a_rank_that_is_late_for_a_moment_is_not_accused(answers, texts):
    assert None is answers(*texts).incident


def ahead(launched, *, kind="AllReduce"):
    return unequal(
        "  6 ranks have launched up to operation 640",
        f"  2 ranks have launched up to operation {launched}",
        f"  Rank 2 -- {place(2)}", f"  Rank 3 -- {place(3)}", kind=kind)  # fmt: skip


@pytest.mark.parametrize("text", [
    behind(69), ahead(641), ahead(641, kind="AllGather"),
    unequal("  5 ranks have launched up to operation 640",
            "  3 ranks have launched up to operation 641"),
])  # fmt: skip
def test_one_answer_whose_counts_may_differ_for_a_moment_is_told_and_accuses_nobody(answers, text):
    diagnosis = answers(text)
    assert ("unknown", "job") == (first(diagnosis)["fault"], first(diagnosis)["entity"]["type"])
    assert "info" == diagnosis.incident["severity"]
    (quote,) = diagnosis.document()["leftovers"]["lines"]
    assert "launched" in quote["text"]


@pytest.mark.parametrize("texts", [
    (ahead(641), ahead(641)), (ahead(700),),
    (unequal("  5 ranks have launched up to operation 640",
             "  3 ranks have launched up to operation 700"),),
])  # fmt: skip
def test_the_few_that_are_ahead_are_not_those_that_the_others_wait_for(answers, texts):
    diagnosis = answers(*texts)
    assert ("unknown", "job") == (first(diagnosis)["fault"], first(diagnosis)["entity"]["type"])
    assert "warning" == diagnosis.incident["severity"]
    (quote,) = diagnosis.document()["leftovers"]["lines"]
    assert "nccl.ras_unequal" == quote["signature"]
    assert "640" in quote["text"]


def test_a_rank_that_stays_behind_is_the_one_that_the_others_wait_for(answers):
    cause = first(answers(behind(69), behind(69)))
    assert ("software.stuck_process", "3") == (cause["fault"], cause["entity"]["id"])


def test_one_answer_says_whom_a_job_waits_for_and_that_another_would_prove_it(answers):
    diagnosis = answers(behind())
    assert "3" == first(diagnosis)["entity"]["id"]
    assert "high" != first(diagnosis)["confidence"]
    assert any("a second answer" in text for text in diagnosis.found.missing)


def test_a_rank_that_does_not_answer_is_the_one_that_the_others_wait_for(answers):
    errors = (
        "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        "  Process 1607 on node 10.0.0.2 managing GPU 3\n\n"
        "#0-0 (78db921d1c117b4a) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        "  The missing rank: 7\n\n"
    )
    diagnosis = answers(told("INCOMPLETE", errors))
    assert ("7", "10.0.0.2") == tuple(first(diagnosis)["entity"][key] for key in ("id", "host"))
    (quote,) = diagnosis.found.quotes
    assert (
        "rank 7 (process 1607 on 10.0.0.2) did not answer NCCL's RAS service, which considers"
        in (quote.text)
    )
    assert "root" == quote.role


def test_two_numbers_without_a_kind_that_moved_accuse_nobody(answers):
    old = [behind(60 + n, 70 + n).replace("AllReduce", "collective") for n in (0, 10)]
    assert None is answers(*old).incident


def status(line):
    return told("MISMATCH", warnings=f"#0-0 (78db921d1c117b4a) MISMATCH\n{line}\n\n")


def test_a_rank_that_launched_another_kind_is_a_mismatch(answers):
    kinds = [("AllReduce", 900, 899), ("AllGather", 10, 11)]
    text = status("\n\n".join(
        f"  Communicator ranks have different {kind} operation counts\n"
        f"  7 ranks have launched up to operation {most}\n"
        f"  Rank 5 has launched up to operation {own} -- {place(5)}" for kind, most, own in kinds
    ))  # fmt: skip
    cause = first(answers(text, text))
    assert ("software.collective_mismatch", "5") == (cause["fault"], cause["entity"]["id"])
    assert None is answers(text, text.replace("10\n", "12\n")).incident


def test_a_rank_that_left_the_communicator_while_its_peers_stay_is_named(answers):
    text = status(
        "  Communicator ranks have different status\n  7 ranks have status RUNNING\n"
        f"  Rank 3 has status NOCOMM -- {place(3)}"
    )
    assert "3" == first(answers(text, text))["entity"]["id"]


def test_of_a_rank_that_lacks_and_one_that_is_late_the_one_that_lacks_is_named(answers):
    text = behind(69).replace(WARNINGS, (
        "#0-0 (78db921d1c117b4a) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        f"  Rank 7 -- {place(7)}\n\n"
    ) + WARNINGS).replace("7 ranks have", "6 ranks have")  # fmt: skip
    assert "7" == first(answers(text, text))["entity"]["id"]


def test_ranks_of_which_nobody_is_named_are_said_to_be_missing(answers):
    found = answers(unequal(
        "  5 ranks have launched up to operation 70",
        "  3 ranks have launched up to operation 60")).found  # fmt: skip
    assert any("5 ranks 70, 3 ranks 60 (ncclras -v" in text for text in found.missing)


SMALL = HEAD + "    0         2         1         4         4         8   RUNNING  MISMATCH\n" + (
    WARNINGS + "#0-1 (78db921d1c117b4b) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  3 ranks have launched up to operation 70\n"
    f"  Rank 2 has launched up to operation 60 -- {place(2, '2')}\n"
)  # fmt: skip


def test_a_rank_of_a_smaller_communicator_is_not_taken_for_one_of_the_job(answers):
    diagnosis = answers(SMALL, SMALL)
    assert [] == [s for _, s in diagnosis.found.samples if "rank" in dict(s.attributes)]
    assert any("process 1602 on 10.0.0.2" in text for text in diagnosis.found.missing)


def test_a_smaller_communicator_s_rank_is_known_by_its_process_in_a_log(answers, tmp_path):
    for rank in range(8):
        (tmp_path / f"rank_{rank}.log").write_text(
            f"node-{rank // 4}:{1596 + rank}:99 [0] NCCL INFO Bootstrap: Using eth0\n"
        )
    diagnosis = answers(SMALL, SMALL)
    assert ("software.stuck_process", "6") == (
        first(diagnosis)["fault"], first(diagnosis)["entity"]["id"])  # fmt: skip


def step(number, at):
    values = {
        "consumed samples": 32,
        "elapsed time per iteration (ms)": 10000.0,
        "learning rate": "2.0E-06",
        "global batch size": 16,
        "lm loss": f"{10.8 - number / 100:.4E}",
        "loss scale": 1.0,
        "grad norm": 3.2,
        "number of skipped iterations": 0,
        "number of nan iterations": 0,
    }
    shown = " | ".join(f"{name}: {value}" for name, value in values.items())
    clock = f"2026-05-13 12:{at // 60:02}:{at % 60:02}"
    return f" [{clock}] iteration {number:8}/     500 | {shown} |"


def test_in_a_job_s_log_an_answer_has_the_time_between_its_lines(explain, tmp_path):
    steps = [step(number, 10 * number) for number in range(1, 31)]
    log = [told("OK"), *steps, behind(), behind()]
    (tmp_path / "job.log").write_text("\n".join(log))
    diagnosis = explain(tmp_path)
    assert "3 answers of NCCL RAS" in diagnosis.found.read["job.log"]
    assert ("software.stuck_process", "3") == (
        first(diagnosis)["fault"], first(diagnosis)["entity"]["id"])  # fmt: skip
    (tmp_path / "job.log").write_text("\n".join([told("OK"), *steps[:15], behind(), *steps[15:]]))
    assert None is explain(tmp_path).incident


@pytest.mark.parametrize("minutes", [1, 8, 25])
def test_two_answers_of_long_after_the_last_step_say_who_stood_since_then(
    explain, tmp_path, minutes
):
    steps = [step(number, 10 * number) for number in range(1, 31)]
    (tmp_path / "job.log").write_text("\n".join(steps) + "\n")
    stopped = datetime(2026, 5, 13, 12, 5, tzinfo=UTC).timestamp()
    for number in range(2):
        file = tmp_path / f"ras_{number}.txt"
        file.write_text(behind())
        os.utime(file, (stopped + 60 * (minutes + 2 * number),) * 2)
    diagnosis = explain(tmp_path, zone=UTC)
    assert ("software.stuck_process", "3") == (
        first(diagnosis)["fault"], first(diagnosis)["entity"]["id"])  # fmt: skip
    assert "2026-05-13T12:05" == diagnosis.incident["opened_at"][:16]


def test_ranks_that_ras_misses_are_quoted_with_their_process(explain, tmp_path):
    (tmp_path / "ras.json").write_text(answer())
    os.utime(tmp_path / "ras.json", (BEGAN, BEGAN))
    found = explain(tmp_path).found
    assert "answer of NCCL RAS, 1 communicator: 1 did not answer" == found.read["ras.json"]
    (event,) = found.events
    assert "rank 2 (process 77 on 10.0.0.1) did not answer" in str(event.attributes["text"])


def test_a_process_that_did_not_answer_and_is_of_no_known_rank_is_told_and_blames_nobody(answers):
    errors = (
        "INCOMPLETE\n  Missing communicator data from 1 job process\n"
        "  Process 9001 on node 10.0.0.9 managing GPU 0\n\n"
        "#0-1 (78db921d1c117b4b) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        "  Rank 1 -- GPU 0 managed by process 9001 on node 10.0.0.9\n\n"
    )
    row = "    0         2         1         4         4         8   RUNNING  INCOMPLETE\n"
    text = HEAD + row + ERRORS + errors + WARNINGS
    diagnosis = answers(text)
    assert "unknown" == first(diagnosis)["fault"]
    assert 1 == sum("which rank process 9001" in one for one in diagnosis.found.missing)
    later = answers(text, told("OK"))
    assert later.incident is None


def test_json_answers_stand_inside_a_log_too(explain, tmp_path):
    shown = json.dumps(json.loads(answer()), indent=2)
    lines = ["before", *("pod-0 | " + line for line in shown.splitlines()), "after"]
    (tmp_path / "job.log").write_text("\n".join(lines))
    (event,) = explain(tmp_path).found.events
    assert "rank 2 (process 77 on 10.0.0.1) did not answer" in str(event.attributes["text"])


def test_an_error_of_a_communicator_is_quoted_with_its_rank(answers):
    errors = (
        "#0-0 (78db921d1c117b4a) ERROR\n  Asynchronous error on 1 rank\n"
        f"  Rank 5 reported Unhandled CUDA error -- {place(5)}\n\n"
    )
    (quote,) = answers(told("ERROR", errors)).found.quotes
    assert (5, "root") == (quote.rank, quote.role)
    assert "unhandled cuda error" in quote.text


def test_an_answer_that_was_cut_off_says_so(answers):
    found = answers(HEAD + ROW.format("OK")).found
    assert "cut off before its end" in found.read["ras_0.txt"]


def test_an_answer_in_a_node_s_log_tells_which_of_its_ranks_says_nothing(explain, tmp_path):
    waited = (
        "[rank{0}]:[E513 12:15:00.71478166{0} ProcessGroupNCCL.cpp:685] [Rank {0}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=61, OpType=ALLREDUCE, NumelIn=64, "
        "NumelOut=64, Timeout(ms)=600000) ran for 600042 milliseconds before timing out."
    )
    dated = "2026-05-13 12:00:00 the job begins\n"
    lines = [waited.format(rank) for rank in (0, 1, 2)]
    (tmp_path / "job.log").write_text(told("OK") + dated + "\n".join(lines))
    cause = first(explain(tmp_path))
    assert ("software.stuck_process", "3") == (cause["fault"], cause["entity"]["id"])
