"""Files that are followed: from where, over rotation, restarts and floods."""

import os

from .conftest import append, line

FAULT = "OSError: [Errno 28] No space left on device: '/ckpt'\n"


def test_what_was_there_at_the_first_look_is_past_and_what_comes_is_read(node):
    path = node.folder / "train.log"
    append(path, line(1), "iter 2: loss 9")
    follower = node.start()
    assert node.steps(follower) == []
    append(path, "9.5, time 1.00ms\n", line(3))
    assert node.steps(follower) == [(3, 0)]


def test_a_file_that_appears_is_read_from_its_beginning(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "new.log", line(1), line(2))
    assert node.steps(follower) == [(1, 0), (2, 0)]


def test_the_rank_in_a_name_is_whose_log_it_is(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "out.rank3.log", line(1))
    append(node.folder / "rank_02-stdout.log", line(1))
    assert sorted(rank for _, rank in node.steps(follower)) == [2, 3]


def test_samples_and_events_leave_with_the_job_and_times_of_reading(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "rank1.log", line(1), FAULT)
    (batch,) = node.turn(follower)
    assert (batch.job, batch.attempt) == ("job-1", None)
    # The line is the first of two that were written in the last second.
    assert all(node.now - 1 < sample.at < node.now for sample in batch.samples)
    (event,) = batch.events
    assert (event.name, event.at, event.attributes["rank"]) == ("log.fault", node.now, 1)


def test_a_file_that_was_cut_is_read_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1), line(2))
    node.turn(follower)
    os.truncate(path, 0)
    append(path, line(3))
    assert node.steps(follower) == [(3, 0)]


def test_a_file_that_was_renamed_is_read_to_its_end_and_its_successor_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1))
    node.turn(follower)
    path.rename(node.folder / "train.log.1")
    append(node.folder / "train.log.1", line(2))
    append(path, line(3))
    assert sorted(node.steps(follower)) == [(2, 0), (3, 0)]


def test_a_restart_of_the_agent_neither_repeats_nor_loses_a_line(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1))
    assert node.steps(follower) == [(1, 0)]
    follower.close(node.now)
    append(path, line(2))
    again = node.start()
    assert node.steps(again) == [(2, 0)]
    assert node.steps(again) == []


def test_another_file_with_the_number_of_one_that_is_gone_is_read_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1), line(2))
    node.turn(follower)
    follower.close(node.now)
    with path.open("r+") as file:  # the same inode, and other bytes
        file.write(line(7) + line(8) + line(9))
    assert node.steps(node.start()) == [(7, 0), (8, 0), (9, 0)]


def test_a_torn_state_of_the_agent_costs_the_positions_only(node):
    (node.state / "training_logs.json").write_text("{")
    assert node.steps(node.start()) == []


def test_a_fault_that_is_repeated_leaves_once_and_then_as_a_count(node):
    path = node.folder / "rank0.log"
    follower = node.start()
    node.turn(follower)
    append(path, FAULT * 1000)
    (batch,) = node.turn(follower)
    assert len(batch.events) == 1
    append(path, FAULT)
    node.turn(follower, 1.0)
    events = [event for batch in node.turn(follower, 120.0) for event in batch.events]
    assert [event.attributes["count"] for event in events] == [1000]


def test_a_job_that_logs_faster_than_may_be_read_is_sampled_and_it_is_counted(node):
    """Of much that waits the newest is read, whole lines only."""
    path = node.folder / "rank0.log"
    follower = node.start(share=0.01)
    node.turn(follower)
    append(path, "".join(f"{line(step)}{'x' * 500}\n" for step in range(40_000)))
    found = node.steps(follower)
    size = path.stat().st_size
    read, skipped = (node.health.counted(name) for name in ("log_bytes", "log_bytes_skipped"))
    assert read + skipped == size
    assert 0 < read < 4 << 20
    assert found[-1][0] == 39_999
    steps = [step for step, _ in found]
    assert steps == list(range(steps[0], 40_000))


def test_reading_stops_when_its_share_of_the_cpu_is_used_up(node):
    path = node.folder / "rank0.log"
    node.cost = 0.5  # seconds between two looks at the clock
    follower = node.start(share=0.05)
    node.turn(follower, 1.0)
    append(path, line(1))
    assert [node.steps(follower, 1.0) for _ in range(5)] == [[]] * 5
    node.cost = 0.0
    assert node.steps(follower, 100.0) == [(1, 0)]


def test_what_is_no_regular_file_is_not_opened(node):
    os.mkfifo(node.folder / "fifo.log")
    (node.folder / "folder.log").mkdir()
    (node.folder / "null.log").symlink_to("/dev/null")
    (node.folder / "gone.log").symlink_to(node.folder / "nowhere")
    follower = node.start()
    node.turn(follower)
    assert not follower._files
