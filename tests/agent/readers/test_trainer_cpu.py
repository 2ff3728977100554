import os
import subprocess
import sys
import time
from typing import Any

import pytest

from rankscope.agent.readers.trainer_cpu import TrainerCpu
from rankscope.agent.readers.workers import LoaderWorkers

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int, *, utime: int, stime: int, started: int = 500, command: str = "a b) c") -> str:
    fields = ["0"] * 50
    fields[0] = "S"
    fields[14 - 3], fields[15 - 3], fields[22 - 3] = str(utime), str(stime), str(started)
    return f"{pid} ({command}) {' '.join(fields)}\n"


@pytest.fixture
def reader(proc, make_trainer):
    def make(*pids: int) -> TrainerCpu:
        root = proc()
        trainers = [make_trainer(pid, rank=rank) for rank, pid in enumerate(pids)]
        workers = LoaderWorkers(
            trainers=lambda: trainers, adopt=lambda parents: None, refresh=10.0, proc=root
        )
        return TrainerCpu(period=5, workers=workers, proc=root)

    return make


def value(samples, metric):
    return [sample.value for sample in samples if sample.metric == metric]


def test_use_is_cpus_since_the_last_reading(proc, reader):
    proc(**{"100__stat": stat(100, utime=0, stime=0), "100__task__100__schedstat": "0 0 0"})
    one = reader(100)
    assert value(one.read(10.0), "process.cpu.utilization") == []
    proc(**{"100__stat": stat(100, utime=5 * TICKS, stime=TICKS)})
    assert value(one.read(14.0), "process.cpu.utilization") == [1.5]


def test_waits_are_the_sum_over_threads_in_seconds(proc, reader):
    proc(
        **{
            "100__stat": stat(100, utime=0, stime=0),
            "100__task__100__schedstat": "999 1500000000 7",
            "100__task__101__schedstat": "999 500000000 7",
        }
    )
    assert value(reader(100).read(1.0), "process.cpu.wait") == [2.0]


def test_waits_never_fall_when_threads_end_or_their_numbers_are_taken_over(proc, reader):
    root = proc(
        **{
            "100__stat": stat(100, utime=0, stime=0),
            "100__task__100__schedstat": "0 1000000000 0",
            "100__task__101__schedstat": "0 5000000000 0",
        }
    )
    one = reader(100)
    assert value(one.read(1.0), "process.cpu.wait") == [6.0]
    (root / "100/task/101/schedstat").unlink()
    (root / "100/task/101").rmdir()
    assert value(one.read(2.0), "process.cpu.wait") == [6.0]
    proc(**{"100__task__101__schedstat": "0 250000000 0"})
    assert value(one.read(3.0), "process.cpu.wait") == [6.25]
    proc(**{"100__task__101__schedstat": "0 100000000 0"})
    assert value(one.read(4.0), "process.cpu.wait") == [6.35]


def test_another_process_under_the_same_number_starts_anew(proc, reader):
    proc(
        **{
            "100__stat": stat(100, utime=900 * TICKS, stime=0, started=1),
            "100__task__100__schedstat": "0 5000000000 0",
        }
    )
    one = reader(100)
    one.read(1.0)
    proc(
        **{
            "100__stat": stat(100, utime=1, stime=0, started=2),
            "100__task__100__schedstat": "0 1000000000 0",
        }
    )
    samples = one.read(2.0)
    assert value(samples, "process.cpu.wait") == [1.0]
    assert value(samples, "process.cpu.utilization") == []


def test_a_thread_that_slept_for_long_and_wakes_is_seen_within_four_readings(proc, reader):
    proc(
        **{
            "100__stat": stat(100, utime=0, stime=0),
            "100__task__100__schedstat": "5 1000000000 0",
            "100__task__101__schedstat": "5 0 0",
        }
    )
    one = reader(100)
    for at in range(9):
        assert value(one.read(float(at)), "process.cpu.wait") == [1.0]
    proc(**{"100__task__101__schedstat": "9 3000000000 1"})
    seen = [value(one.read(10.0 + at), "process.cpu.wait")[0] for at in range(4)]
    assert seen[-1] == 4.0
    assert seen == sorted(seen)


def test_a_process_that_ended_is_left_out(proc, reader):
    proc(**{"100__stat": stat(100, utime=0, stime=0), "100__task__100__schedstat": "0 1 0"})
    one = reader(100, 200)
    assert {dict(sample.attributes)["pid"] for sample in one.read(1.0)} == {100}


def test_a_real_process_that_waits_for_its_cpu_shows_it(make_trainer, until):
    """Two busy processes on one CPU: each waits about as long as it runs."""
    cpu = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{cpu}}}); print(flush=True)\nwhile True: pass"
    busy: list[Any] = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for process in busy:
            process.stdout.readline()
        trainer = make_trainer(busy[0].pid)
        workers = LoaderWorkers(
            trainers=lambda: [trainer], adopt=lambda parents: None, refresh=10.0
        )
        one = TrainerCpu(period=5, workers=workers)
        before = value(one.read(time.time()), "process.cpu.wait")[0]
        until(lambda: value(one.read(time.time()), "process.cpu.wait")[0] - before > 0.2)
        until(lambda: value(one.read(time.time()), "process.cpu.utilization")[0] > 0)
    finally:
        for process in busy:
            process.kill()
            process.wait()
            process.stdout.close()
