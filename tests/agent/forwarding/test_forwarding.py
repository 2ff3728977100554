"""Lines that go on to an OTLP logs receiver: a real HTTP server, read with opentelemetry-proto."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from pydantic import ValidationError

from rankscope.agent.forwarding import ForwardQueue, ForwardSender, LineForwarder
from rankscope.agent.forwarding.forwarder import LONGEST
from rankscope.agent.health import AgentHealth
from rankscope.agent.names import NodeNames
from rankscope.agent.push import PushConnection
from rankscope.agent.settings import AgentSettings, ForwardSettings
from rankscope.agent.training_logs import LogSource

AT = 1_787_000_000.0


def source(number=1, job="run-7", **ranks):
    return LogSource(
        inode=(1, number), name="/logs/out.log", open_path="", job=job, attempt=2, fresh=True,
        ranks={int(rank[1:]): local for rank, local in ranks.items()},
    )  # fmt: skip


class Node:
    """A forwarder whose clock is the test's, and what waits behind it."""

    def __init__(self, *, max_bytes=8 << 20, rate=1 << 30):
        self.health, self.clock = AgentHealth(), AT
        self.waiting = ForwardQueue(max_bytes=max_bytes, health=self.health)
        self.forwarder = LineForwarder(
            waiting=self.waiting,
            resource_of=NodeNames(host="node-1", cluster="c").attempt,
            bytes_per_second=rate,
            health=self.health,
            now=lambda: self.clock,
        )

    def take(self, data, of=None, since=AT - 1, at=AT):
        self.forwarder.take(of or source(r3=1), data, since, at)

    def records(self):
        groups, _ = self.waiting.take(1 << 30)
        return [LogRecord.FromString(one) for _, records in groups for one in records]

    def bodies(self):
        return [record.body.string_value for record in self.records()]

    def dropped(self, reason):
        return self.health.counted("forward_lines_dropped", reason)


def attributes(record):
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in record.attributes
    }


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.integers(1, 40))
def test_lines_arrive_unchanged_however_they_are_read(text, size):
    node, data = Node(), text.encode()
    for start in range(0, len(data), size):
        node.take(data[start : start + size])
    node.forwarder.end(source(r3=1), AT)
    assert text.removesuffix("\n").split("\n") == node.bodies() or not text


def test_codes_and_carriage_returns_stay_and_what_is_no_utf8_is_replaced():
    node = Node()
    node.take(b"\x1b[31mred\x1b[0m <b>\r 10%\r 20%\n\xff\xfe loss\n")
    assert ["\x1b[31mred\x1b[0m <b>\r 10%\r 20%", "\ufffd\ufffd loss"] == node.bodies()


def test_a_record_has_the_rank_of_its_line_else_of_its_file_and_the_times():
    node = Node()
    node.take(b"mine\n[rank9]: other\n[default0]: local\n", source(r3=1))
    node.take(b"whose\n[default1]: local\n", source(2, r4=0, r5=1))
    found = node.records()
    assert [3, 9, None, None, 5] == [attributes(record).get("rank") for record in found]
    assert {"/logs/out.log"} == {attributes(record)["log.file.path"] for record in found}
    # Lines of a turn lie evenly between its two times.
    assert [AT - 0.67, AT - 0.33, AT] == [
        pytest.approx(record.time_unix_nano / 1e9, abs=0.01) for record in found[:3]
    ]
    assert all(record.observed_time_unix_nano == int(AT * 1e9) for record in found)


def test_after_bytes_that_were_not_read_the_rest_of_a_line_is_left_out():
    node = Node()
    node.take(b"one\nbegun ")
    node.forwarder.left_out(source(r3=1))
    node.take(b"end of another")
    node.take(b"\ntwo\n")
    assert ["one", "two"] == node.bodies()


def test_a_long_line_goes_on_in_further_records_and_is_never_held_whole():
    node = Node()
    for _ in range(3):
        node.take(b"x" * LONGEST)
        assert sum(map(len, node.forwarder._rests.values())) < LONGEST
    node.take(b"y\n")
    bodies = node.bodies()
    assert "x" * (3 * LONGEST) + "y" == "".join(bodies)
    assert max(map(len, bodies)) <= LONGEST


def test_beyond_the_rate_lines_are_dropped_and_counted():
    node = Node(rate=1000)
    node.take(b"x" * 499 + b"\n" + b"y" * 1499 + b"\n" + b"z" * 99 + b"\n")
    assert ["x", "y"] == [body[0] for body in node.bodies()]
    assert 1 == node.dropped("rate")
    node.clock += 1.0
    node.take(b"a" * 900 + b"\n")
    assert 1 == len(node.bodies())


def test_beyond_the_memory_the_oldest_lines_go_and_are_counted():
    node = Node(max_bytes=64 << 10)
    for number in range(1000):
        node.take(f"{number:0100d}\n".encode())
    bodies = node.bodies()
    assert 0 < len(bodies) < 1000
    assert f"{999:0100d}" == bodies[-1]
    assert 1000 - len(bodies) == node.dropped("full")


@pytest.fixture
def send(intake):
    """Forward from a node to the receiver."""
    running = []

    def start(node, stopped=None, **more):
        post = PushConnection(f"{intake.endpoint}/otlp", timeout=60, **more)
        one = ForwardSender(
            waiting=node.waiting, post=post, health=node.health, interval=0.01, jitter=lambda: 0.0
        )
        one._stopped = stopped or one._stopped
        one.start()
        running.append(one)
        return one

    yield start
    for one in running:
        one.stop(timeout=60)


def lines(intake):
    """Return (resource, rank, body) of every line that the receiver took."""
    return [
        (attributes(one.resource), attributes(record).get("rank"), record.body.string_value)
        for path, body in list(intake.taken)
        if path == "/otlp/v1/logs"
        for one in ExportLogsServiceRequest.FromString(body).resource_logs
        for scope in one.scope_logs
        for record in scope.log_records
    ]


def test_lines_of_several_jobs_arrive_with_the_keys_of_their_metrics(intake, send, until):
    node = Node()
    send(node, headers={"X-Scope-OrgID": "team"}, token="secret")
    node.take(b"one\ntwo\n")
    node.take(b"three\n", source(2, job="run-8"))
    until(lambda: len(lines(intake)) == 3)
    assert {("run-7", 3, "one"), ("run-7", 3, "two"), ("run-8", None, "three")} == {
        (resource["rankscope.job.id"], rank, body) for resource, rank, body in lines(intake)
    }
    resource = lines(intake)[0][0]
    assert ("node-1", 2, "c") == (
        resource["host.name"], resource["rankscope.job.attempt"], resource["rankscope.cluster"],
    )  # fmt: skip
    headers = intake.asked[0][1]
    assert ("team", "Bearer secret") == (headers["X-Scope-OrgID"], headers["Authorization"])
    until(lambda: node.health.counted("forward_lines") == 3)


class Waits(threading.Event):
    """Notes how long somebody waits for it, and lets nobody wait long."""

    def __init__(self):
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout=None):
        self.seconds.append(timeout)
        return super().wait(0.01)


def test_a_receiver_that_asks_for_a_pause_gets_the_same_batch_after_it(intake, send, until):
    node, waits = Node(), Waits()
    answers: list[tuple[int, dict[str, str]]] = [(503, {"Retry-After": "17"}), (429, {}), (200, {})]
    intake.answer = lambda: answers.pop(0)
    node.take(b"one\n")
    send(node, waits)
    until(lambda: lines(intake))
    assert ["one"] == [body for _, _, body in lines(intake)]
    assert [17.0, 0.5] == [one for one in waits.seconds if one != 0.01][:2]
    assert 1 == node.health.counted("forward_failures", "status_503")
    assert 0 == node.health.counted("forward_lines_dropped")


def test_a_receiver_that_refuses_costs_the_batch_and_not_the_next(intake, send, until):
    node = Node()
    answers: list[tuple[int, dict[str, str]]] = [(400, {}), (200, {})]
    intake.answer = lambda: answers.pop(0)
    send(node)
    node.take(b"bad\n")
    until(lambda: node.dropped("refused") == 1)
    node.take(b"good\n")
    until(lambda: lines(intake))
    assert ["good"] == [body for _, _, body in lines(intake)]


def test_lines_that_the_receiver_did_not_take_of_a_batch_are_counted(intake, send, until):
    partial = ExportLogsPartialSuccess(rejected_log_records=2, error_message="too old")
    intake.body = ExportLogsServiceResponse(partial_success=partial).SerializeToString()
    node = Node()
    send(node)
    node.take(b"1\n2\n3\n")
    until(lambda: node.health.counted("forward_lines") == 1)
    assert 2 == node.dropped("rejected")


def test_a_receiver_that_is_away_is_waited_for_until_the_agent_ends(intake, send, until):
    node = Node()
    intake.close()
    one = send(node)
    node.take(b"one\ntwo\n")
    until(lambda: node.health.counted("forward_failures", "refused") >= 1)
    one.stop(timeout=60)
    assert 2 == node.dropped("stopped")


def test_an_agent_forwards_what_it_follows_and_reads_it_too(intake, run_agent, folder, until):
    path = folder / "out.rank3.log"
    path.touch()
    agent = run_agent(
        logs={"files": [{"path": str(path), "job": "run-7", "attempt": 0}]},
        forward={"endpoint": f"{intake.endpoint}/otlp", "interval_seconds": 0.1},
        push={"endpoint": intake.endpoint},
    )
    until(lambda: b"log_files 1" in page(agent))
    with path.open("a") as file:
        file.write("anything\niter 5: loss 2.5, time 100.00ms\n")
    expected = ["anything", "iter 5: loss 2.5, time 100.00ms"]
    until(lambda: [body for _, _, body in lines(intake)] == expected)
    ((resource, rank),) = {(one["rankscope.job.id"], rank) for one, rank, _ in lines(intake)}
    assert ("run-7", 3) == (resource, rank)
    (loss,) = until(lambda: intake.points("training.loss"))
    assert ("run-7", 3) == (loss[0]["rankscope.job.id"], loss[1]["rank"])


def page(agent):
    import urllib.request  # noqa: PLC0415

    with urllib.request.urlopen(f"http://127.0.0.1:{agent.port}/metrics", timeout=60) as answer:
        return answer.read()


def test_nothing_is_forwarded_by_default():
    assert "" == AgentSettings().forward.endpoint


@pytest.mark.parametrize(
    "keys",
    [
        {"endpoint": "loki:3100"},
        {"endpoint": "http://loki:3100/otlp/v1/logs"},
        {"endpoint": "http://loki:3100/otlp?tenant=1"},
        {"headers": {"Bad header": "x"}},
        {"headers": {"X-Ok": "two\r\nlines"}},
    ],
)
def test_settings_that_cannot_work_are_refused(keys):
    with pytest.raises(ValidationError, match="write"):
        ForwardSettings.model_validate(keys)
