"""The whole agent against real parts: processes that speak, an intake that listens."""

import http.client
import socket
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankscope.agent import exits, procfs, service
from rankscope.vocabulary import datagram, metrics
from rankscope.vocabulary.samples import Sample, attributes


def page(agent: service.NodeAgent) -> dict[str, list[tuple[dict[str, str], float]]]:
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=60)
    connection.request("GET", "/metrics")
    body = connection.getresponse().read().decode()
    connection.close()
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


SPEAKING = """
for index in range(100000):
    step(index)
    time.sleep(0.05)
"""


def test_what_a_trainer_says_is_pushed_and_shown(run_agent, trainer, intake, until):
    node = {"cluster": "blue", "job_user": "none"}
    agent = run_agent(push={"endpoint": intake.endpoint}, node=node)
    trainer(agent.socket_path, SPEAKING, job="训练/1", rank=3, attempt=2)
    until(lambda: len(intake.points("training.loss")) > 5)
    resource, pairs, at, value = intake.points("training.loss")[0]
    assert resource == {
        "service.name": "rankscope-agent",
        "host.name": "node-1",
        "rankscope.job.id": "训练/1",
        "rankscope.job.attempt": 2,
        "rankscope.cluster": "blue",
    }
    assert pairs == {"rank": 3}
    assert abs(at - time.time()) < 60
    assert value == 0.5
    steps = [value for *_, value in intake.points("training.step")]
    assert steps == sorted(steps)
    labels, _ = page(agent)["training_loss"][0]
    assert labels == {"host_name": "node-1", "cluster": "blue", "job_id": "训练/1", "rank": "3"}


def test_a_host_without_a_name_of_its_own_has_the_machines(run_agent, intake, until):
    run_agent(push={"endpoint": intake.endpoint}, node={"host": None})
    until(intake.resources)
    assert intake.resources()[0]["host.name"] == socket.gethostname()


def test_one_resource_for_each_host_job_and_attempt(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint, "interval_seconds": 1.0})
    for job, rank in (("a", 0), ("a", 1), ("b", 0)):
        trainer(agent.socket_path, SPEAKING, job=job, rank=rank)

    def jobs_of_one_push():
        for resources in _resources_by_push(intake):
            jobs = [one.get("rankscope.job.id") for one in resources]
            assert len(jobs) == len(set(jobs))
            if set(jobs) == {"a", "b", None}:
                return True
        return False

    until(jobs_of_one_push)


def _resources_by_push(intake):
    taken = list(intake.taken)
    for one in taken:
        intake_of_one = type(intake)(taken=[one])
        yield intake_of_one.resources()


def test_the_readings_of_a_trainers_process_go_with_its_job(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint})
    process = trainer(agent.socket_path, SPEAKING, rank=1)
    until(lambda: intake.points("process.cpu.utilization"))
    for metric in ("process.memory.usage", "process.memory.private", "process.cpu.wait"):
        resource, pairs, _, value = until(lambda name=metric: intake.points(name))[0]
        assert resource["rankscope.job.id"] == "job-1"
        assert pairs == {"pid": process.pid, "rank": 1, "role": "trainer"}
        assert value >= 0
    assert intake.points("system.memory.usage")[0][0].get("rankscope.job.id") is None


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("os._exit(7)", {"exit_code": 7}),
        ("os._exit(0)", {"exit_code": 0}),
        ("raise SystemExit(3)", {"exit_code": 3}),
        ("os.kill(os.getpid(), signal.SIGKILL)", {"signal": 9}),
    ],
)
def test_the_end_of_a_process_is_told_once_with_how_it_ended(
    run_agent, trainer, intake, until, ending, expected
):
    agent = run_agent(push={"endpoint": intake.endpoint, "interval_seconds": 60})
    process = trainer(agent.socket_path, f"step(0); sys.stdin.readline(); {ending}", rank=5)
    until(lambda: page(agent).get("training_step"))
    process.stdin.write(b"\n")
    process.stdin.flush()
    until(lambda: intake.events("process.exit"))
    ((resource, pairs),) = intake.events("process.exit")
    assert resource["rankscope.job.id"] == "job-1"
    assert pairs == {"rank": 5, "pid": process.pid, **expected}
    assert [value for *_, value in intake.points("training.step")] == [0.0]


def test_the_series_of_a_rank_go_with_its_process(run_agent, trainer, until):
    agent = run_agent()
    process = trainer(agent.socket_path, SPEAKING)
    until(lambda: page(agent).get("process_memory_usage_bytes"))
    process.kill()
    process.wait()
    until(lambda: agent.health.counted("exits"))
    shown = until(
        lambda: page(agent),
        "no trainer",
        lambda shown: (
            shown["rankscope_agent_trainers"] == [({}, 0.0)] and "training_step" not in shown
        ),
    )
    assert not {name for name in shown if name.startswith("process_memory")}


def test_a_status_nobody_could_tell_after_a_shutdown_is_a_clean_exit(
    run_agent, trainer, intake, until, monkeypatch
):
    monkeypatch.setattr(exits.ExitWatch, "_status", lambda self, watched: None)
    agent = run_agent(push={"endpoint": intake.endpoint})
    clean = trainer(agent.socket_path, "phase('shutdown'); sys.stdin.readline()", rank=0)
    other = trainer(agent.socket_path, "phase('train'); sys.stdin.readline()", rank=1)
    until(lambda: len(intake.events("training.phase")) == 2)
    for process in (clean, other):
        process.kill()
        process.wait()
    until(lambda: len(intake.events("process.exit")) == 2)
    told = {pairs["rank"]: pairs for _, pairs in intake.events("process.exit")}
    assert told[0] == {"rank": 0, "pid": clean.pid, "exit_code": 0}
    assert told[1] == {"rank": 1, "pid": other.pid}


@pytest.mark.parametrize("launched", [("job-2", 5), ("job-1", 4)], ids=["job", "rank"])
def test_what_a_process_says_as_somebody_else_is_marked_and_so_is_its_end(
    run_agent, trainer, intake, until, launched
):
    agent = run_agent(push={"endpoint": intake.endpoint})
    body = "step(0); phase('train'); sys.stdin.readline(); os._exit(1)"
    process = trainer(agent.socket_path, body, rank=5, launched=launched)
    until(lambda: intake.events("training.phase") and page(agent).get("training_step"))
    process.stdin.close()
    until(lambda: intake.events("process.exit"))
    told = [*intake.events("training.phase"), *intake.events("process.exit")]
    assert 2 * ["claimed"] == [pairs["quality"] for _, pairs in told]
    ((_, pairs, _, value),) = intake.points("training.step")
    assert ("claimed", 0.0) == (pairs["quality"], value)
    assert 1 == agent.health.counted("events_claimed", "environment")
    assert 0 < agent.health.counted("samples_claimed", "environment")


def test_what_only_the_agent_can_know_is_taken_from_no_process(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint})
    body = """
    named = ("host.oom_kill", "gpu.fault", "process.exit", "agent.lifecycle")
    say(events=[Event(name, time.time(), {"rank": 0, "code": "79"}) for name in named])
    phase("train")
    sys.stdin.readline()
    """
    trainer(agent.socket_path, body)
    ((_, pairs),) = until(lambda: intake.events("training.phase"))
    assert {"rank": 0, "phase": "train"} == pairs
    assert 4 == agent.health.counted("events_refused")
    assert [] == [row for name in ("host.oom_kill", "gpu.fault") for row in intake.events(name)]
    assert ["start"] == [pairs["phase"] for _, pairs in intake.events("agent.lifecycle")]


def test_last_words_are_read_before_the_end_is_told(run_agent, trainer, intake, until):
    body = """
    for index in range(8): step(index)
    say(events=[Event("training.numeric", time.time(), {"rank": 0, "what": "loss"})])
    os._exit(1)
    """
    agent = run_agent(push={"endpoint": intake.endpoint, "interval_seconds": 30})
    trainer(agent.socket_path, body)
    until(lambda: intake.events("process.exit"))
    assert [value for *_, value in intake.points("training.step")] == list(range(8))
    names = [name for name in ("training.numeric", "process.exit") for _ in intake.events(name)]
    assert names == ["training.numeric", "process.exit"]


def test_events_leave_at_once(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint, "interval_seconds": 60})
    trainer(
        agent.socket_path,
        """
        say(events=[Event("training.numeric", time.time(),
                          {"rank": 0, "step": 7, "what": "loss", "value": float("nan")})])
        sys.stdin.readline()
        """,
    )
    until(lambda: intake.events("training.numeric"))
    ((_, pairs),) = intake.events("training.numeric")
    assert (pairs["rank"], pairs["step"], pairs["what"]) == (0, 7, "loss")


def test_a_pid_from_inside_a_container_becomes_the_hosts(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint})
    process = trainer(
        agent.socket_path,
        """
        at = time.time()
        inside = attributes({"rank": 0, "pid": 7, "world_size": 1})
        say(Sample("training.rank.info", 1.0, at, inside), pid=7,
            events=[Event("process.stack", at, {"rank": 0, "pid": 7, "text": "main"})])
        sys.stdin.readline()
        """,
    )
    until(lambda: intake.points("training.rank.info") and intake.events("process.stack"))
    info, stack = intake.points("training.rank.info")[0][1], intake.events("process.stack")[0][1]
    assert (info["pid"], info["rank"], info["world_size"]) == (process.pid, 0, 1)
    assert (stack["pid"], stack["rank"], stack["text"]) == (process.pid, 0, "main")
    started = intake.points("training.rank.info")[0][1]["process.start_time"]
    assert started == int(procfs.started_at(process.pid) or 0)
    until(lambda: intake.points("process.memory.usage"))
    pairs = intake.points("process.memory.usage")[0][1]
    assert (pairs["pid"], pairs["container.pid"]) == (process.pid, 7)


def test_an_attempt_that_no_launcher_numbers_stays_absent(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint})
    trainer(agent.socket_path, "attempt = None\n" + SPEAKING, job="a")
    until(lambda: [one for one in intake.resources() if "rankscope.job.id" in one])
    assert "rankscope.job.attempt" not in {name for one in intake.resources() for name in one}


def test_an_agent_announces_its_start_and_its_shutdown_which_comes_last(
    run_agent, trainer, intake, until
):
    agent = run_agent(push={"endpoint": intake.endpoint, "interval_seconds": 5.0})
    until(lambda: intake.events("agent.lifecycle"))
    ((node, start),) = intake.events("agent.lifecycle")
    assert start == {"phase": "start", "interval_seconds": 0.3}
    assert node == {"service.name": "rankscope-agent", "host.name": "node-1"}
    trainer(agent.socket_path, SPEAKING)
    until(lambda: page(agent).get("training_step"))
    agent.stop()
    until(lambda: len(intake.events("agent.lifecycle")) == 2)
    assert (node, {"phase": "shutdown"}) == intake.events("agent.lifecycle")[1]
    assert intake.points("training.step"), "what was gathered before leaves before"
    until(lambda: not Path(agent.socket_path).exists())
    assert intake.taken[-1][0] == "/v1/logs"


def test_two_jobs_on_one_node_are_told_apart(run_agent, trainer, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint})
    trainer(agent.socket_path, SPEAKING, job="a", rank=0)
    trainer(agent.socket_path, SPEAKING, job="b", rank=0)

    def jobs():
        return {point[0]["rankscope.job.id"] for point in intake.points("training.step")}

    until(lambda: jobs() == {"a", "b"})
    until(lambda: len(page(agent).get("training_step", ())) == 2)


def test_datagrams_over_udp_count_too(run_agent, intake, until):
    agent = run_agent(push={"endpoint": intake.endpoint}, probe={"udp_listen": "127.0.0.1:0"})
    said = datagram.ProbeDatagram(
        "job-1", 0, 4, 7, samples=(Sample("training.loss", 2.0, 1e9, attributes({"rank": 4})),)
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendto(datagram.encode(said), ("127.0.0.1", agent.udp_port))
        line.sendto(b"rubbish", ("127.0.0.1", agent.udp_port))
    until(lambda: intake.points("training.loss"))
    until(lambda: agent.health.counted("datagrams_bad"))
    pairs = {"rank": 4, "quality": "claimed"}
    assert intake.points("training.loss")[0][1:] == (pairs, 1e9, 2.0)


def test_a_collector_away_delays_and_loses_nothing_over_a_restart_of_the_agent(
    run_agent, trainer, intake, until, folder
):
    intake.close()
    common = {
        "push": {"endpoint": intake.endpoint},
        "probe": {"socket": str(folder / "same.sock")},
        "spool": {"folder": str(folder / "same")},
    }
    first = run_agent(**common)
    process = trainer(
        first.socket_path, "for index in range(40): step(index); time.sleep(0.01)\nos._exit(0)"
    )
    until(lambda: first.health.counted("exits"))
    process.wait()
    first.stop()
    until(lambda: not Path(first.socket_path).exists())
    intake.open()
    run_agent(**common)
    until(lambda: intake.events("process.exit"))
    assert [value for *_, value in intake.points("training.step")] == list(range(40))


def test_an_error_of_the_agents_own_is_counted_and_survived(run_agent, trainer, until, monkeypatch):
    agent = run_agent()
    real = agent._latest.receive
    failures = iter([ValueError("a bug")] * 2)

    def sometimes(*args, **more):
        failure = next(failures, None)
        if failure:
            raise failure
        real(*args, **more)

    monkeypatch.setattr(agent._latest, "receive", sometimes)
    trainer(agent.socket_path, SPEAKING)
    until(lambda: page(agent).get("training_step"))
    assert agent.health.counted("internal_errors") == 2


def test_a_sweep_over_everything_that_is_pushed_finds_nothing_the_vocabulary_does_not_have(
    run_agent, trainer, intake, until
):
    agent = run_agent(push={"endpoint": intake.endpoint})
    trainer(agent.socket_path, SPEAKING)
    until(lambda: "process.cpu.utilization" in intake.metrics())
    until(lambda: "system.cpu.utilization" in intake.metrics())
    assert intake.metrics() <= set(metrics.catalogue())
    assert {
        "system.cpu.utilization",
        "system.cpu.steal",
        "system.cpu.logical.count",
        "system.memory.usage",
        "system.memory.limit",
        "system.filesystem.utilization",
        "system.processes.blocked",
        "process.memory.usage",
        "process.memory.private",
        "process.memory.shared",
        "process.cpu.utilization",
        "process.cpu.wait",
        "training.step",
        "training.loss",
    } <= intake.metrics()


def test_a_reader_that_is_switched_off_is_silent(run_agent, intake, until):
    run_agent(push={"endpoint": intake.endpoint}, readers={"off": ["memory"]})
    until(lambda: "system.cpu.utilization" in intake.metrics())
    assert "system.memory.usage" not in intake.metrics()
