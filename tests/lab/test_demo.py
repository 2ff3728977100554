"""The parts of the demo that need no job: how hosts are divided, how its result is checked."""

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from rankscope.lab.demo import flow
from rankscope.lab.demo.hosts import DemoHost, divide
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import JOB, DemoStage, RemoteCollector, free_port, new_folder
from rankscope.lab.demo.verdict import InjectedTruth, evaluate, observed, unrelated

CRASH_OF_3 = InjectedTruth(("software.crash",), "rank", ("3",), "demo-b")


def document(fault, kind, entity_id, host):
    entity = {"type": kind, "id": entity_id, "host": host, "ranks": []}
    return {"root_cause": {"hypotheses": [{"fault": fault, "entity": entity}]}}


@pytest.mark.parametrize("count", [2, 3, 4, 5, 64])
def test_hosts_never_share_a_cpu_and_leave_a_large_machine_alone(count):
    (first, second), text = divide(range(count))
    assert first.cpus
    assert len(first.cpus) == len(second.cpus) <= 2
    assert not set(first.cpus) & set(second.cpus)
    assert set(first.cpus) | set(second.cpus) <= set(range(count))
    assert (first.ranks, second.ranks) == ((0, 1), (2, 3))
    assert "demo-a on CPU 0" in text


def test_one_cpu_is_divided_by_priority_and_that_is_said():
    (first, second), text = divide([7])
    assert first.cpus == second.cpus == ()
    # Neighbours yield to the first host and press on the second.
    assert first.nice < second.neighbours_nice < second.nice
    assert "nice" in text


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (("host.cpu_contention", "host", "demo-b", "demo-b"), True),
        (("host.cpu_contention", "host", "demo-a", "demo-a"), False),
        (("unknown", "job", "demo-job", None), False),
        (("host.cpu_contention", "rank", "3", "demo-b"), False),
    ],
)
def test_a_host_fault_is_right_only_at_its_host(answer, right):
    truth = InjectedTruth(("host.cpu_contention",), "host", ("demo-b",), "demo-b")
    assert evaluate(document(*answer), truth).right is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (("software.crash", "rank", "3", "demo-b"), True),
        (("software.crash", "rank", "2", "demo-b"), False),
        (("software.crash", "rank", "3", "demo-a"), False),
        (("software.stuck_process", "rank", "3", "demo-b"), False),
    ],
)
def test_a_rank_fault_is_right_only_at_its_rank_and_host(answer, right):
    assert evaluate(document(*answer), CRASH_OF_3).right is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (("memory.dataloader_leak", "process", "demo-b:12", "demo-b"), True),
        (("memory.dataloader_leak", "process", "demo-b:13", "demo-b"), True),
        (("memory.dataloader_leak", "process", "demo-b:11", "demo-b"), False),
        (("memory.host_leak", "process", "demo-b:12", "demo-b"), False),
    ],
)
def test_a_worker_fault_is_right_only_at_one_of_the_ranks_worker_processes(answer, right):
    truth = InjectedTruth(
        ("memory.dataloader_leak",), "process", ("demo-b:12", "demo-b:13"), "demo-b"
    )
    assert evaluate(document(*answer), truth).right is right


def test_a_fault_that_no_metric_can_show_may_be_unknown_but_must_accuse_nobody():
    truth = InjectedTruth(("network.congestion", "unknown"), "job", ("demo-job",))
    assert evaluate(document("unknown", "job", "demo-job", None), truth).right
    assert not evaluate(document("unknown", "rank", "3", "demo-b"), truth).right
    assert not evaluate(document("host.cpu_contention", "host", "demo-b", "demo-b"), truth).right


@pytest.mark.parametrize(
    ("entity", "incidents", "right"),
    [("demo-b:7", [], True), ("demo-b:8", [], False), ("demo-b:7", [{"summary": "s"}], False)],
)
def test_a_harmless_fault_is_right_as_an_observation_at_its_entity(entity, incidents, right):
    truth = InjectedTruth(("memory.copy_on_read",), "process", ("demo-b:7",), "demo-b")
    row = {"entity": {"type": "process", "id": entity, "host": "demo-b", "ranks": []}}
    verdict = observed(row, incidents, truth)
    assert (right, right) == (verdict.right, verdict.text.startswith("RIGHT"))


def test_other_incidents_are_listed_but_for_infos():
    rows = [
        {"id": "a", "severity": "warning", "summary": "this one"},
        {"id": "b", "severity": "info", "summary": "worth knowing"},
        {"id": "c", "severity": "critical", "summary": "another"},
    ]
    assert list(unrelated(rows, "a")) == ["critical: another"]


def test_a_free_port_stays_free_until_its_server_listens():
    """The kernel gives it to nobody in between, neither to a listener nor to a connection."""
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind(("127.0.0.1", port))
    for _ in range(2):  # a server that is started again finds it free again
        with socket.create_server(("127.0.0.1", port)) as server:
            socket.create_connection(("127.0.0.1", port)).close()
            server.accept()[0].close()


def test_the_demos_folder_leaves_sockets_a_path_short_enough(tmp_path, monkeypatch):
    """Batch systems set TMPDIR to long paths; a Unix socket's path has at most 107 bytes."""
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = new_folder()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
            agent.bind(str(folder / "demo-a.sock"))
    finally:
        shutil.rmtree(folder)
    assert [] == list(long.iterdir())


def test_no_cause_at_all_is_wrong():
    empty: dict[str, Any] = {"root_cause": {"hypotheses": []}}
    verdict = evaluate(empty, CRASH_OF_3)
    assert not verdict.right
    assert "software.crash at rank 3 on demo-b" in verdict.text


@pytest.fixture
def logs(tmp_path):
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def a_stubborn_process_with_a_child(processes, *, apart):
    script = (
        "import subprocess, sys, time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        f" start_new_session={apart});"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    process = processes.start("stubborn", [sys.executable, "-c", script], environ={})
    while not process.log.read_text().endswith("\n"):
        assert process.ended is None
    return process, int(process.log.read_text())


def ends(pid):
    # The kernel ends a killed process in its own time: only that it ends can be asked for.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            not in "ZX"
        ):
            time.sleep(0.01)
    return True


@pytest.mark.parametrize("apart", [False, True], ids=["its group", "a session of its own"])
def test_processes_are_ended_with_everything_they_started(logs, apart):
    with DemoProcesses(logs) as processes:
        process, child = a_stubborn_process_with_a_child(processes, apart=apart)
    assert process.ended is not None
    assert ends(child)


def test_a_second_ctrl_c_ends_the_waiting_and_leaves_not_even_a_stopped_process(logs, monkeypatch):
    processes = DemoProcesses(logs)
    process, child = a_stubborn_process_with_a_child(processes, apart=True)
    os.kill(child, signal.SIGSTOP)

    def pressed(seconds):
        assert process.ended is None, "the grace period was over before the key was pressed"
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rankscope.lab.demo.processes.time.sleep", pressed)
        with pytest.raises(KeyboardInterrupt), processes:
            pass
    assert process.ended is not None
    assert ends(child)


def test_a_stopped_process_is_let_go_so_that_it_can_end_by_itself(logs):
    script = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7));"
        "print('ready', flush=True); signal.pause()"
    )
    starter = (  # as torchrun does, it ends only after what it started
        "import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
    )
    with DemoProcesses(logs) as processes:
        process = processes.start("starter", [sys.executable, "-c", starter, script], environ={})
        while "ready" not in process.log.read_text():
            assert process.ended is None
        (below,) = psutil.Process(process.handle.pid).children()
        below.suspend()
        processes.stop(process, grace_seconds=600)
    assert 7 == process.ended


def test_on_a_collector_that_goes_on_each_demo_is_a_job_of_its_own(tmp_path):
    hosts = (DemoHost("demo-a", (0, 1)), DemoHost("demo-b", (2, 3)))
    elsewhere = RemoteCollector("http://collector:8470", "a-token-of-role-read", ("0.0.0.0", 9471))
    with DemoProcesses(tmp_path) as processes:
        stage = DemoStage(tmp_path, processes, hosts, elsewhere=elsewhere)
        assert "http://collector:8470" == stage.address
        assert stage.job_id.startswith(f"{JOB}-")
        assert JOB == DemoStage(tmp_path, processes, hosts).job_id
        pages = [stage._page(host) for host in hosts]
    assert [
        {"RANKSCOPE_EXPORT__LISTEN": "0.0.0.0:9471", "RANKSCOPE_PUSH__TOKEN": elsewhere.token},
        {"RANKSCOPE_EXPORT__LISTEN": "0.0.0.0:9472", "RANKSCOPE_PUSH__TOKEN": elsewhere.token},
    ] == pages


@pytest.mark.parametrize(("load", "said"), [(0.5, False), (29.0, True)])
def test_a_machine_with_much_else_to_do_is_named_first(load, said, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("rankscope.lab.demo.hosts.usable_cpus", lambda: (0, 1))
    assert said is ("load 29 on 2 CPUs" in flow._busy())
