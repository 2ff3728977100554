"""The reader of NCCL Inspector's files: what it follows, what it sums up, what it refuses."""

import json
import os

import pytest

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.readers.nccl_inspector import NcclInspector
from rankscope.agent.settings import AgentSettings
from rankscope.vocabulary import operations


def line(
    rank, sequence, micros, *, op="AllReduce", name="DP Group 0", ranks=2, comm="0x7f8c", pid=None
):
    header = {"id": comm, "comm_name": name, "rank": rank, "n_ranks": ranks, "nnodes": 1}
    if name is None:
        del header["comm_name"]  # as the README of Inspector shows it
    perf = {"coll": op, "coll_sn": sequence, "coll_msg_size_bytes": 1 << 20,
            "coll_exec_time_us": micros, "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 2.0}  # fmt: skip
    return json.dumps({
        "header": header,
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "hostname": "h",
                     "rec_mechanism": "nccl_profiler_interface", "pid": pid or 1000 + rank,
                     "dump_timestamp_us": 1_700_000_000_000_000 + sequence},
        "coll_perf": perf,
    }) + "\n"  # fmt: skip


@pytest.fixture
def folder(ranks, tmp_path):
    """Return the folder that the processes of two ranks write to."""
    ranks.world_size = 2
    path = tmp_path / "written"
    path.mkdir()
    for rank in (0, 1):
        pid = ranks.add(rank, NCCL_INSPECTOR_ENABLE="1", NCCL_INSPECTOR_DUMP_DIR=str(path))
        (ranks.proc / str(pid) / "root").symlink_to("/")
    return path


@pytest.fixture
def reader(ranks, delivered):
    made = []

    def make(**keys):
        chosen = AgentSettings.model_validate({"inspector": keys})
        made.append(
            NcclInspector(
                settings=chosen.inspector,
                deliver=delivered,
                health=delivered.health,
                period=5.0,
                processes=RankProcesses(ranks.proc),
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def refused(delivered, reason):
    return delivered.health.counted("collective_source_failures", "nccl_inspector", reason)


def test_operations_are_summed_up_by_rank_and_kind(folder, reader, delivered):
    one = reader()
    one.turn(95.0)
    for rank in (0, 1):
        written = [line(rank, 1, 1000), line(rank, 2, 3000 + rank), line(rank, 3, 2000)]
        (folder / f"h-pid{1000 + rank}.log").write_text("".join(written))
    one.turn(100.0)
    assert {0: 3, 1: 3} == delivered.values("collective.count")
    assert {0: 0.002, 1: 0.002} == pytest.approx(delivered.values("collective.duration"))
    assert {0: 0.003, 1: 0.003001} == pytest.approx(delivered.values("collective.duration.max"))
    assert {"world:7f8c": 3 << 20} == delivered.values("collective.size", "group")
    assert {0: 2e9, 1: 2e9} == delivered.values("collective.bus_bandwidth")
    assert {"0-1": 1.0} == delivered.values("collective.group.info", "ranks")
    assert {"AllReduce": 3} == delivered.values("collective.count", "op")


def test_lines_are_read_on_from_where_they_were_left_and_torn_ones_when_they_end(
    folder, reader, delivered
):
    path = folder / "a.log"
    one = reader()
    whole = line(0, 2, 10, name=None)
    path.write_text(line(0, 1, 10) + whole[:40])
    one.turn(95.0)
    assert {0: 1} == delivered.values("collective.count")
    with path.open("a") as file:
        file.write(whole[40:] + line(0, 3, 10))
    one.turn(100.0)
    assert {0: 2} == delivered.values("collective.count")
    assert 0 == refused(delivered, "malformed")


def test_a_file_that_was_replaced_is_read_anew_and_the_old_one_to_its_end(
    folder, reader, delivered
):
    path = folder / "a.log"
    path.write_text(line(0, 1, 10))
    one = reader()
    one.turn(95.0)
    with path.open("a") as file:
        file.write(line(0, 2, 10))
    path.rename(folder.parent / "a.log.1")
    path.write_text(line(0, 3, 10) + line(0, 4, 10))
    one.turn(100.0)
    assert {0: 3} == delivered.values("collective.count")


def test_of_a_huge_file_that_was_there_before_the_end_is_read(folder, reader, delivered):
    path = folder / "a.log"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a hole: no disk is filled
        file.seek(1 << 30)
        file.write(b"\n" + line(1, 7, 10).encode())
    reader().turn(95.0)
    assert {1: 1} == delivered.values("collective.count")
    assert 0 < refused(delivered, "lost_bytes") <= 1 << 20


def test_what_is_no_operation_is_counted_and_sends_are_left_out(folder, reader, delivered):
    send = line(0, 1, 10).replace('"coll_', '"p2p_').replace('"coll"', '"p2p"')
    deep = "[" * 50_000 + "\n"
    (folder / "a.log").write_text(
        "{torn\n" + send + "[]\n" + deep + "x" * 300_000 + "\n" + line(0, 9, 1)
    )
    reader().turn(95.0)
    assert {0: 1} == delivered.values("collective.count")
    assert 3 == refused(delivered, "malformed")
    assert 300_000 <= refused(delivered, "lost_bytes")


def test_links_and_pipes_in_the_folder_are_not_opened(folder, reader, delivered, tmp_path):
    other = tmp_path / "other"
    other.write_text(line(0, 1, 10))
    (folder / "a.log").symlink_to(other)
    os.mkfifo(folder / "b.log")
    reader().turn(95.0)
    assert not delivered.batches


def test_a_process_that_is_not_of_the_job_is_counted(folder, reader, delivered):
    (folder / "a.log").write_text(line(0, 1, 10, pid=77))
    reader().turn(95.0)
    assert not delivered.batches
    assert 1 == refused(delivered, "unknown_rank")


def test_of_a_folder_of_the_settings_the_largest_communicator_numbers_the_ranks(
    reader, delivered, tmp_path
):
    path = tmp_path / "named"
    path.mkdir()
    small = line(1, 2, 10, ranks=2, comm="0x1", pid=33)
    (path / "a.log").write_text(line(3, 1, 10, ranks=4, pid=33) + small)
    one = reader(follow=False, folders=[{"path": str(path), "job": "run-9", "attempt": 1}])
    one.turn(95.0)
    assert {"world:7f8c": 3, "other:1": 3} == {
        dict(sample.attributes)["group"]: dict(sample.attributes)["rank"]
        for sample in delivered.batches[0].samples
    }
    assert ("run-9", 1) == (delivered.batches[0].job, delivered.batches[0].attempt)


def test_single_operations_of_the_same_numbers_leave_too_with_their_ends_where_these_are_noted(
    folder, reader, delivered
):
    stamped = json.loads(line(0, 20, 10))
    stamped["coll_perf"]["event_trace_ts"] = {"coll_start_ts": 17e14, "coll_stop_ts": 17e14 + 10}
    written = [line(0, number, 10) for number in range(1, 20)]
    (folder / "a.log").write_text("".join(written) + json.dumps(stamped) + "\n")
    reader().turn(95.0)
    (event,) = delivered.events()
    assert (0, "world:7f8c", "inspector") == (event["rank"], event["group"], event["source"])
    first, second = operations.decode(event["text"])
    assert (10, 20, 1 << 20) == (first.sequence, second.sequence, second.size)
    assert first.completed_at is None
    assert 17e8 + 1e-5 == pytest.approx(second.completed_at, abs=1e-6)
    delivered.batches.clear()
    (folder / "b.log").write_text(line(0, 30, 10))
    reader(operations_every=0).turn(95.0)
    assert [] == delivered.events()


def test_switched_off_it_says_so(reader):
    supported, reason = reader(follow=False).supported()
    assert not supported
    assert "inspector.follow is off" in reason
