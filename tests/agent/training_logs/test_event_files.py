"""TensorBoard's files beside logs: whose they are, and which of two files counts."""

import os

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.training_logs import LogSource, LogSources
from rankscope.agent.training_logs.owners import LogOwners
from rankscope.vocabulary.samples import Sample, attributes

ENVIRON = "RANK={}\0LOCAL_RANK={}\0WORLD_SIZE=2\0RANKSCOPE_JOB_ID=job\0"


def process(proc, pid, rank, folder):
    place = proc / str(pid)
    place.mkdir(parents=True)
    (place / "stat").write_text(f"{pid} (python) S 1 {' '.join(['0'] * 40)}\n")
    (place / "environ").write_text(ENVIRON.format(rank, rank))
    (place / "status").write_text(f"Name:\tpython\nNSpid:\t{pid}\t{pid - 100}\n")
    (place / "cwd").symlink_to(folder)


def test_event_files_below_a_ranks_folder_are_its_own_by_the_pid_in_their_names(tmp_path):
    work, proc = tmp_path / "work", tmp_path / "proc"
    for rank, pid in ((0, 510), (1, 511)):
        process(proc, pid, rank, work)
    names = {
        "runs/now/events.out.tfevents.1700000000.node.510.0": 0,
        "out/runs/now/events.out.tfevents.1700000000.node.in.dots.411.0": 1,  # in its container
        "events.out.tfevents.1700000000.node.999.0": None,  # of somebody else
        "runs/now/notes.510.txt": None,
    }
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    found = LogSources(processes=RankProcesses(proc)).find(0.0)
    ranks = {os.path.realpath(one.name): one.rank for one in found.values()}
    assert {str(work / name): rank for name, rank in names.items() if rank is not None} == ranks


def source(number):
    return LogSource(
        inode=(1, number), name="", open_path="", job="job", attempt=None, fresh=True, ranks={0: 0}
    )


def line(at, **values):
    pairs = attributes({"rank": 0, "source": "log"})
    return [Sample(f"training.{name}", value, at, pairs) for name, value in values.items()]


def test_of_two_files_of_a_rank_the_second_adds_what_the_first_lacks_at_the_firsts_time():
    owners, log, events = LogOwners(), source(1), source(2)
    first = line(10.0, step=5.0, loss=2.0)
    assert first == owners.kept(log, first)
    assert [] == owners.kept(events, line(10.4, step=5.0, loss=2.0))
    assert line(10.0, grad_norm=0.5) == owners.kept(events, line(10.4, grad_norm=0.5))
    later = line(11.4, step=6.0, loss=1.9)
    assert later == owners.kept(events, later)  # of each step the file that comes first
    assert line(11.4, grad_norm=0.4) == owners.kept(
        log, line(11.5, step=6.0, loss=1.9, grad_norm=0.4)
    )


def test_a_log_without_steps_is_left_where_another_file_has_them():
    owners, log, events = LogOwners(), source(1), source(2)
    early = line(9.0, loss=2.1)
    assert early == owners.kept(log, early)
    owners.kept(events, line(10.0, step=5.0, loss=2.0))
    assert line(10.1, grad_norm=0.5) == owners.kept(log, line(10.1, loss=2.0, grad_norm=0.5))


def test_a_job_that_goes_back_to_a_checkpoint_reports_its_steps_again():
    owners, log = LogOwners(), source(1)
    for step in (5.0, 6.0, 4.0, 5.0, 6.0):
        values = line(10.0 + step, step=step, loss=2.0)
        assert values == owners.kept(log, values)


def test_a_log_that_was_rotated_goes_on_in_its_successor():
    owners = LogOwners()
    for number, step in ((1, 1.0), (1, 2.0), (2, 3.0)):
        values = line(10.0 + step, step=step, loss=2.0)
        assert values == owners.kept(source(number), values)
