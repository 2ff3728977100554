"""Real faults: the list is whole, and each mechanism does to a process what it says."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.waiting import until

from rankscope.lab import mechanisms
from rankscope.lab.demo import cpu_quota, private_shm
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.unsupported import InjectionUnsupportedError
from rankscope.lab.jobs import loader, metrics, orders, storage
from rankscope.lab.jobs.link import SlowLink
from rankscope.lab.jobs.orders import RankOrders
from rankscope.lab.mechanisms import leaks
from rankscope.lab.mechanisms.contract import TRAINERS
from rankscope.vocabulary import faults, findings

MIB = 1 << 20


@pytest.fixture
def processes(tmp_path):
    (tmp_path / "logs").mkdir()
    with DemoProcesses(tmp_path / "logs") as started:
        yield started


@pytest.mark.parametrize("one", mechanisms.MECHANISMS, ids=lambda one: one.name)
def test_a_mechanism_is_of_a_fault_of_the_contract_and_says_what_it_does(one):
    assert one.fault in {"", *faults.catalogue()}
    assert set(one.answers) <= set(faults.catalogue())
    assert one.symptoms <= set(findings.catalogue())
    assert "{" not in one.text.format(rank=3, host="demo-b")
    assert set(one.trainers) <= set(TRAINERS)
    assert one.trainers
    assert one.change is None or isinstance(one.change(), mechanisms.JobChange)
    # Something is done: inside the ranks, to them, or beside them.
    assert one.change or one.signal or one.quota or one.neighbours or one.link or one.beside
    assert bool(one.quiet) != bool(one.fault)


def test_every_mechanism_has_a_name_of_its_own_and_orders_find_it():
    names = [one.name for one in mechanisms.MECHANISMS]
    assert sorted(set(names)) == sorted(names)
    assert [mechanisms.named(name) for name in names] == list(mechanisms.MECHANISMS)


def test_an_order_reaches_its_ranks_only_and_only_at_steps_at_which_orders_are_looked_at(tmp_path):
    path = tmp_path / "orders.json"
    environ = {orders.VARIABLE: str(path), "RANKSCOPE_LAB_ORDER_EVERY": "50"}
    first, second = RankOrders(0, environ), RankOrders(1, environ)
    orders.give(path, mechanism="nan-samples", ranks=[1])
    first.step(50)
    second.step(49)
    second.load([])
    assert not first.change.spoils()
    assert not second.change.spoils()
    second.step(50)
    assert second.change.spoils()


def test_without_orders_nothing_is_changed():
    calm = RankOrders(0, {}).change
    calm.step(0, 0)
    calm.load([])
    assert not any((calm.spoils(), calm.ends(), calm.other_collective(), calm.gathered_bytes()))


def test_a_leak_keeps_what_its_rate_says_and_stops_before_the_machine_suffers(monkeypatch):
    now = 100.0
    monkeypatch.setattr(leaks, "available", lambda: 200.0 * MIB)
    leak = leaks.MemoryLeak(clock=lambda: now)
    leak.grow()
    assert leak.held == 0
    now = 102.0
    leak.grow()
    assert leak.held == 4 * MIB
    now = 10_000.0
    leak.grow()
    assert leak.held == leaks.MOST_SHARE * 200 * MIB


def test_a_large_host_is_leaked_into_faster_so_that_it_would_be_full_within_the_night(monkeypatch):
    free = 1024.0 * 1024 * MIB
    monkeypatch.setattr(leaks, "available", lambda: free)
    now = 0.0
    leak = leaks.MemoryLeak(clock=lambda: now)
    now = 0.1
    leak.grow()
    assert leak.held == int(0.1 * free / (leaks.HOURS_LEFT * 3600))


def test_reading_shared_objects_in_a_forked_process_makes_their_pages_private():
    dataset = loader.dataset({"RANKSCOPE_LAB_DATASET_MIB": "16"})
    assert len(dataset) * len(dataset[0]) > 15.9 * MIB
    assert [] == loader.dataset({"RANKSCOPE_LAB_DATASET_MIB": "16", "WORLD_SIZE": "4"})
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before = private(os.getpid())
        for sample in dataset:
            len(sample)
        os.write(writing, str(private(os.getpid()) - before).encode())
        os._exit(0)
    os.close(writing)
    copied = int(os.read(reading, 100))
    os.waitpid(child, 0)
    assert copied > 12 * MIB


def test_batches_are_made_in_another_process_which_ends_with_its_trainer():
    script = (
        "import os, time\n"
        "from rankscope.lab.jobs import loader\n"
        "def make():\n"
        "    while True: yield os.getpid()\n"
        "made = loader.batches(make)\n"
        "print(next(made), next(made), os.getpid(), flush=True)\n"
        "time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as trainer:
        assert trainer.stdout is not None
        worker, again, pid = map(int, trainer.stdout.readline().split())
        assert worker == again != pid == trainer.pid
        trainer.kill()
    until(lambda: ended(worker))


def test_a_link_delivers_everything_in_order_and_later_when_it_is_slow():
    with socket.create_server(("127.0.0.1", 0)) as target:
        link = SlowLink(0, target.getsockname()[1])
        threading.Thread(target=link.serve, daemon=True).start()
        with socket.create_connection(("127.0.0.1", link.port)) as near:
            far, _ = target.accept()
            with far:
                data = os.urandom(3 * MIB)
                threading.Thread(target=near.sendall, args=(data,), daemon=True).start()
                assert received(far, len(data)) == data
                link.delay = 0.3
                sent = time.monotonic()
                far.sendall(b"back")
                assert received(near, 4) == b"back"
                assert time.monotonic() - sent >= 0.3
        link.close()


def test_a_checkpoint_is_written_at_once_until_the_storage_is_ordered_to_be_slow(
    processes, tmp_path
):
    order, path = tmp_path / "orders.json", tmp_path / "storage"
    environ = {**os.environ, orders.VARIABLE: str(order)}
    processes.start(
        "storage", [sys.executable, "-m", "rankscope.lab.jobs.storage", str(path)], environ=environ
    )
    until(path.exists)
    storage.write(path)
    orders.give(order, mechanism=storage.MECHANISM, ranks=[3])
    size, held = MIB // 2, MIB // 8  # the pipe's own buffer, and a chunk on its way

    def slow():
        begun = time.monotonic()
        storage.write(path, size)
        return time.monotonic() - begun >= (size - held) / storage.SLOW_RATE

    until(slow)


def test_only_rank_0_writes_checkpoints_and_only_where_it_is_said_where():
    environ = {"RANKSCOPE_LAB_CHECKPOINT": "/x", "RANKSCOPE_LAB_CHECKPOINT_STEPS": "80"}
    assert storage.due(environ, 0, 160) == Path("/x")
    assert storage.due(environ, 0, 0) is None
    assert storage.due(environ, 0, 81) is None
    assert storage.due(environ, 1, 160) is None
    assert storage.due({}, 0, 160) is None


def test_results_are_small_until_ordered_and_the_sort_takes_all_of_them():
    usual, ordered = metrics.predictions(1, 0), metrics.predictions(1, 100_000)
    assert len(usual) < 1000
    assert len(ordered) >= 100_000
    assert 0 <= metrics.rank_all([usual, ordered]) <= 250


def test_what_was_done_outside_of_processes_is_undone_after_their_end(tmp_path):
    (tmp_path / "logs").mkdir()
    undone = []
    started = DemoProcesses(tmp_path / "logs")
    process = started.start("sleeper", ["sleep", "600"], environ=os.environ)
    started.at_end(lambda: undone.append(process.ended))
    started.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert process.ended is not None
    assert undone == [process.ended]


def test_a_quota_that_cannot_be_set_is_refused_with_the_reason_and_leaves_nothing(tmp_path):
    with pytest.raises(InjectionUnsupportedError, match="control group with a CPU quota"):
        cpu_quota.check(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_quota_is_set_and_taken_back(processes):
    try:
        folder = cpu_quota.check()
    except InjectionUnsupportedError as error:
        pytest.skip(str(error))
    before = set(folder.iterdir())
    process = processes.start("sleeper", ["sleep", "600"], environ=os.environ)
    remove = cpu_quota.limit([process.handle.pid], 0.5)
    (group,) = set(folder.iterdir()) - before
    assert str(process.handle.pid) in (group / "cgroup.procs").read_text().split()
    processes.stop(process)
    remove()
    assert not group.exists()


def test_a_private_shared_memory_is_small_and_the_machines_own_stays_as_it_is(processes, tmp_path):
    try:
        within = private_shm.mount(processes, "demo-a", 4)
    except InjectionUnsupportedError as error:
        pytest.skip(str(error))
    script = "import os; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize)"
    words = [*within, sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout) == 4 * MIB
    ours = os.statvfs("/dev/shm")
    assert ours.f_blocks * ours.f_frsize != 4 * MIB


def private(pid):
    """Return the private bytes of a process."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    lines = (line.split() for line in text.splitlines() if line.startswith("Private_"))
    return sum(int(words[1]) << 10 for words in lines)


def received(end, size):
    """Return so many bytes."""
    whole = b""
    while len(whole) < size:
        whole += end.recv(size - len(whole))
    return whole


def ended(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
