"""Logs of a dead job: whose line it is, which host and device it is about, who says nothing."""

from datetime import UTC, datetime

import pytest

from rankscope.collector.artefacts.job import log_names

BEGAN = datetime(2026, 8, 22, 15, 0, 0, tzinfo=UTC).timestamp()
GAVE_UP = BEGAN + 1200


def clock(at, form="%Y-%m-%d %H:%M:%S"):
    return datetime.fromtimestamp(at, UTC).strftime(form)


def steps(count, **changed):
    """Return lines of Megatron, a step each ten seconds; the last rank of eight logs them."""
    loss = "lm loss: {:.6E} | "
    return "".join(
        f" [{clock(BEGAN + 10 * i)}.000000] iteration {i + 1:8}/  500000 | consumed samples: 1024 |"
        f" elapsed time per iteration (ms): 10000.0 | learning rate: 1.500000E-04 | {loss}"
        f"loss scale: 1.0 | grad norm: 0.512 | number of skipped iterations:   0 |"
        f" number of nan iterations:   0 |\n".replace(
            loss, changed.get("loss", loss).format(2.345678 - i / 1000)
        )
        for i in range(count)
    )


def timed_out(rank):
    return (
        f"[rank{rank}]:[E{clock(GAVE_UP, '%m%d %H:%M:%S')}.000000 77 ProcessGroupNCCL.cpp:616]"
        f" [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=120049,"
        " OpType=_ALLGATHER_BASE, NumelIn=100, NumelOut=800, Timeout(ms)=600000) ran for 600065"
        " milliseconds before timing out.\n"
    )


def joined(rank):
    """Return NCCL's line of a rank that joined the world: four devices a host."""
    bus = (rank % 4 + 1) * 0x1000
    return (
        f"node-{rank // 4}:{100 + rank}:{100 + rank} [{rank % 4}] NCCL INFO comm 0x55 rank {rank}"
        f" nranks 8 cudaDev {rank % 4} nvmlDev {rank % 4} busId {bus:x} commId 0x2114bc51af4fb978"
        " - Init COMPLETE\n"
    )


@pytest.fixture
def hung(tmp_path):
    """Return the logs of eight ranks, all of which but rank 5 waited for the whole time-out."""
    for rank in range(8):
        lines = joined(rank) + (steps(60) if rank == 7 else "")
        lines += "" if rank == 5 else timed_out(rank)
        (tmp_path / f"rank_{rank}.log").write_text(lines)
    return tmp_path


def first(diagnosis):
    return diagnosis.document()["root_cause"]["hypotheses"][0]


def test_the_rank_that_logged_no_time_out_is_named_with_its_host(explain, hung):
    cause = first(explain(hung, zone=UTC))
    assert ("software.stuck_process", [5], "node-1") == (
        cause["fault"], cause["entity"]["ranks"], cause["entity"]["host"],
    )  # fmt: skip


def test_a_kernel_line_is_joined_to_the_rank_by_the_address_of_its_device(explain, hung):
    (hung / "dmesg_node-1.txt").write_text(
        f"[{clock(BEGAN + 598, '%a %b %d %H:%M:%S %Y')}] NVRM: Xid (PCI:0000:02:00): 79, pid=105,"
        " name=python, GPU has fallen off the bus.\n"
    )
    diagnosis = explain(hung, zone=UTC)
    cause = first(diagnosis)
    assert ("gpu.lost", [5]) == (cause["fault"], cause["entity"]["ranks"])
    assert ("dmesg_node-1.txt", 1, "root") == (
        diagnosis.found.quotes[0].file,
        diagnosis.found.quotes[0].line,
        diagnosis.found.quotes[0].role,
    ), "the first error printed is a cascade; roots come first"


def test_a_loss_that_megatron_leaves_out_is_found_by_its_count_of_nan(explain, tmp_path):
    good = steps(30)
    bad = steps(40, loss="").splitlines(keepends=True)[30:]
    bad = [line.replace("nan iterations:   0", "nan iterations:   1") for line in bad]
    (tmp_path / "rank_7.log").write_text(good + "".join(bad))
    document = explain(tmp_path, zone=UTC).document()
    assert ["job.nonfinite"] == [symptom["kind"] for symptom in document["symptoms"]]
    assert "not finite since step 31" in document["summary"]


def test_a_log_of_a_healthy_end_shows_no_fault(explain, tmp_path):
    (tmp_path / "rank_7.log").write_text(steps(60))
    assert explain(tmp_path, zone=UTC).incident is None


def test_a_file_that_says_nothing_is_listed_as_unread(explain, hung):
    (hung / "notes.txt").write_text("it hung again\n")
    (hung / "model.bin").write_bytes(b"\x00\x01\x02")
    unread = explain(hung, zone=UTC).found.unread
    assert {"notes.txt", "model.bin"} == set(unread)
    assert "no log, dump or answer that is known" == unread["model.bin"]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.log", 3),
        ("job-rank12.err", 12),
        ("global_rank-7.txt", 7),
        ("attempt_0/3/stderr.log", 3),
        ("logs/5/stdout.log", 5),
        ("train.log", None),
        ("2026/train.log", None),
        ("slurm-4711.out", None),
    ],
)
def test_the_rank_of_a_log_is_read_from_its_name_as_launchers_write_it(name, rank):
    assert rank == log_names.rank_of(name)
