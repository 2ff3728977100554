import multiprocessing
import os
import subprocess
import sys

import pytest

from rankscope.agent.readers.trainer_memory import TrainerMemory
from rankscope.agent.readers.worker_memory import WorkerMemoryReader
from rankscope.agent.readers.workers import LoaderWorkers

MEBIBYTE = 1 << 20

_FAMILY = """
import multiprocessing, os, subprocess, sys, threading

def work(told, heard, kind):
    leak = bytearray(64 << 20)
    told.put((kind, os.getpid()))
    heard.get()

if __name__ == "__main__":
    inherited = bytearray(os.urandom(1)) * (64 << 20)
    told, heard = multiprocessing.get_context("spawn").Queue(), None
    heard = multiprocessing.get_context("spawn").Queue()
    for kind in ("fork", "spawn"):
        process = multiprocessing.get_context(kind).Process(target=work, args=(told, heard, kind))
        process.start()
    shell = subprocess.Popen(["sleep", "60"])
    pids = dict(told.get() for _ in range(2))
    print(pids["fork"], pids["spawn"], shell.pid, flush=True)
    sys.stdin.readline()
    shell.kill()
    for _ in range(2): heard.put(None)
"""


@pytest.fixture
def family(tmp_path):
    """Start a trainer with a forked and a spawned worker, a shell, and a resource tracker."""
    path = tmp_path / "train.py"
    path.write_text(_FAMILY)
    process = subprocess.Popen(
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    forked, spawned, shell = map(int, process.stdout.readline().split())
    yield process.pid, forked, spawned, shell
    process.stdin.write("\n")
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


@pytest.fixture
def found(family, make_trainer):
    adopted: list[object] = []
    trainer = make_trainer(family[0], rank=4)
    workers = LoaderWorkers(trainers=lambda: [trainer], adopt=adopted.append, refresh=10.0)
    return workers, adopted


def test_forked_and_spawned_workers_are_found_and_other_children_are_not(family, found):
    trainer, forked, spawned, _ = family
    workers, adopted = found
    assert {worker.pid for worker in workers.find(0.0)} == {forked, spawned}
    assert sorted(adopted[-1]) == sorted([(forked, trainer), (spawned, trainer)])


def test_private_and_shared_tell_what_a_worker_inherited_from_what_it_took(family, found):
    """64 MiB inherited and untouched are shared; 64 MiB of its own are private."""
    _, forked, spawned, _ = family
    samples = WorkerMemoryReader(period=30, workers=found[0]).read(0.0)
    by = {(dict(one.attributes)["pid"], one.metric): one.value for one in samples}
    assert by[forked, "process.memory.shared"] > 64 * MEBIBYTE
    assert 64 * MEBIBYTE < by[forked, "process.memory.private"] < 120 * MEBIBYTE
    assert by[spawned, "process.memory.shared"] < 64 * MEBIBYTE
    assert {dict(one.attributes)["role"] for one in samples} == {"dataloader"}
    assert {dict(one.attributes)["rank"] for one in samples} == {4}


def test_a_trainers_memory_comes_from_its_status(family, found):
    trainer, forked, spawned, _ = family
    samples = TrainerMemory(period=5, workers=found[0]).read(0.0)
    by = {(dict(one.attributes)["pid"], one.metric): one.value for one in samples}
    assert by[trainer, "process.memory.private"] > 64 * MEBIBYTE
    assert by[trainer, "process.memory.usage"] >= by[trainer, "process.memory.private"]
    assert {metric for pid, metric in by if pid in (forked, spawned)} == {"process.memory.usage"}


def test_the_children_are_looked_for_again_only_after_a_while_or_for_other_trainers(make_trainer):
    trainers = [make_trainer(os.getpid())]
    looked = []
    workers = LoaderWorkers(
        trainers=lambda: trainers, adopt=lambda parents: looked.append(1), refresh=10.0
    )
    for now in (0.0, 5.0, 9.9):
        workers.find(now)
    assert len(looked) == 1
    workers.find(10.0)
    assert len(looked) == 2
    trainers.append(make_trainer(1))
    workers.find(10.5)
    assert len(looked) == 3


def _hold(told, heard):
    told.put(os.getpid())
    heard.get()


def test_a_worker_that_is_a_trainer_of_its_own_is_not_counted_twice(make_trainer):
    """Launchers fork ranks from a process that is a rank itself."""
    context = multiprocessing.get_context("spawn")
    told, heard = context.Queue(), context.Queue()
    child = context.Process(target=_hold, args=(told, heard))
    child.start()
    told.get(timeout=60)
    trainers = [make_trainer(os.getpid())]
    workers = LoaderWorkers(trainers=lambda: trainers, adopt=lambda parents: None, refresh=0.0)
    assert child.pid in {worker.pid for worker in workers.find(0.0)}
    trainers.append(make_trainer(child.pid, rank=1))
    assert child.pid not in {worker.pid for worker in workers.find(1.0)}
    heard.put(None)
    child.join()
    for queue in (told, heard):
        queue.close()
        queue.join_thread()
