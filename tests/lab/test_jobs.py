"""The lab's trainers really train together, and fail in the way that orders name."""

import operator
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.waiting import PATIENCE_SECONDS, until

from rankscope.lab.demo.stage import free_port
from rankscope.lab.jobs import orders
from rankscope.lab.jobs.star import PeerLostError, StarEnd


def meet(world, job):
    """Run `job(star, rank)` on one thread a rank and return the results by rank."""
    port, results = free_port(), {}

    def one(rank):
        star = StarEnd(rank=rank, world=world, address="127.0.0.1", port=port)
        try:
            results[rank] = job(star, rank)
        except PeerLostError as error:
            results[rank] = error
        finally:
            star.close()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_every_rank_gets_the_same_bits_of_the_sum():
    values = np.random.default_rng(1).standard_normal((4, 1000)).astype(np.float32)
    sums = meet(4, lambda star, rank: star.all_reduce(values[rank]))
    np.testing.assert_allclose(sums[0], values.sum(axis=0), rtol=1e-4, atol=1e-5)
    assert len({total.tobytes() for total in sums.values()}) == 1


def test_rank_0_alone_gathers_what_every_rank_sent_in_order():
    results = meet(3, lambda star, rank: star.gather(b"%d" % rank * (rank + 1)))
    assert results == {0: [b"0", b"11", b"222"], 1: [], 2: []}


def test_a_rank_that_left_the_loop_waits_for_rank_0_before_it_closes():
    def job(star, rank):
        star.all_reduce(np.ones(10, np.float32))
        if rank == 0:
            return time.monotonic()
        star.finish()
        return time.monotonic()

    results = meet(2, job)
    assert results[1] >= results[0]


def test_a_rank_that_goes_away_breaks_the_collective_of_the_others():
    def job(star, rank):
        star.all_reduce(np.ones(10, np.float32))
        if rank == 2:
            return "gone"
        return star.all_reduce(np.ones(10, np.float32))

    results = meet(3, job)
    assert results[2] == "gone"
    assert isinstance(results[0], PeerLostError)
    assert isinstance(results[1], PeerLostError)


def start(tmp_path, world=2, steps=400, **environ):
    """Start the numpy trainer without an agent; return the processes by rank."""
    port = free_port()
    common = {
        **{k: v for k, v in os.environ.items() if not k.startswith("RANKSCOPE_")},
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OPENBLAS_NUM_THREADS": "1",
        "RANKSCOPE_AGENT": f"unix://{tmp_path}/nobody.sock",
        "RANKSCOPE_LAB_STEPS": str(steps),
        "RANKSCOPE_LAB_DEVICE_SECONDS": "0.001",
        orders.VARIABLE: str(tmp_path / "orders.json"),
        **environ,
    }
    return [
        subprocess.Popen(
            [sys.executable, "-m", "rankscope.lab.jobs.numpy_trainer"],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]


def ends(processes, timeout=PATIENCE_SECONDS):
    found = [(process, process.communicate(timeout=timeout)[1]) for process in processes]
    return [(process.returncode, text) for process, text in found]


def test_a_job_without_an_agent_trains_to_its_end(tmp_path):
    assert [code for code, _ in ends(start(tmp_path, steps=20))] == [0, 0]


def test_an_ordered_crash_ends_its_rank_with_a_traceback_and_its_peer_with_a_lost_peer(tmp_path):
    orders.give(tmp_path / "orders.json", mechanism="exception", ranks=[1])
    (first, first_text), (second, second_text) = ends(start(tmp_path))
    assert (first, second) == (1, 1)
    assert "OrderedCrashError: rank 1 was ordered to crash" in second_text
    assert "PeerLostError: Connection closed by peer" in first_text


@pytest.mark.parametrize(("how", "code"), [("early-exit", 3), ("segfault", -signal.SIGSEGV)])
def test_a_crash_can_be_an_exit_or_a_signal(tmp_path, how, code):
    orders.give(tmp_path / "orders.json", mechanism=how, ranks=[0])
    assert ends(start(tmp_path))[0][0] == code


def test_a_stuck_rank_stops_both_without_ending_either(tmp_path):
    orders.give(tmp_path / "orders.json", mechanism="stuck-thread", ranks=[1])
    processes = start(tmp_path, steps=20)
    try:
        time.sleep(4)
        assert [process.poll() for process in processes] == [None, None]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_neighbours_leave_nobody_behind():
    script = [sys.executable, "-m", "rankscope.lab.jobs.neighbours", "2"]
    process = subprocess.Popen(script)
    try:
        children = until(
            lambda: children_of(process.pid), "two children", lambda found: len(found) == 2
        )
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
    until(lambda: [child for child in children if alive(child)], "no child", operator.not_)


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
