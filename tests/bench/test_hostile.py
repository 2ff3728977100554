"""The table of attacks: each row sends what can be sent; and what verdicts make of results."""

import socket
from pathlib import Path

import pytest

from bench.hostile.attacks import attacks
from bench.hostile.local import LOCAL, AttackedNode, DatagramPath
from bench.hostile.page import table
from bench.hostile.payloads import LOGS, METRICS, PAYLOADS, WRITE, payload
from bench.hostile.sockets import STYLES
from bench.hostile.verdicts import LIMITS, verdicts
from rankscope.formats import remote_write
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder, logs_json, logs_protobuf
from rankscope.vocabulary import datagram

ROOT = Path(__file__).parents[2]

SMALL = {
    "records": 2,
    "text_bytes": 300,
    "jobs": 3,
    "count": 3,
    "name_bytes": 900,
    "groups": 2,
    "ranges": 3,
    "unpacked_bytes": 3_000,
    "alerts": 2,
    "depth": 3,
    "width": 3,
    "files": 2,
}
ROWS = attacks()


def small(attack):
    return {key: SMALL.get(key, value) for key, value in attack.arguments.items()}


def of(sends):
    return [row for row in ROWS if row.sends in sends]


def named(attack):
    return attack.name


@pytest.mark.parametrize("attack", of(PAYLOADS), ids=named)
def test_each_request_of_the_table_is_one_that_its_decoder_reads(attack):
    request = payload(attack.sends, 1, small(attack))
    body = request.body or b""
    packed = request.headers.get("content-encoding") == "gzip"
    if request.path == WRITE:
        assert len(remote_write.decode(body, SeriesTable()).columns) >= 0
    elif request.path == METRICS:
        metrics = MetricsDecoder(SeriesTable()).protobuf(body)
        assert (True, 0) == (len(metrics.columns) > 0, metrics.rejected)
    elif request.path == LOGS and not packed:
        read = logs_json if "json" in request.headers["content-type"] else logs_protobuf
        logs = read(body)
        assert (True, 0) == (bool(logs.events), logs.rejected)
    else:
        assert request.path.startswith(("/v1/logs", "/api/v1/"))


@pytest.mark.parametrize("attack", of({"datagrams", "claimed"}), ids=named)
def test_each_datagram_of_the_table_is_one_that_the_agent_reads(attack, tmp_path, request):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(str(tmp_path / "s"))
        node = AttackedNode(tmp_path / "s", "127.0.0.1:9", "run", tmp_path, tmp_path)
        path = DatagramPath(node, udp=False)
        request.addfinalizer(path.close)
        assert LOCAL[attack.sends](path, 1, **small(attack))
        read = datagram.decode(agent.recv(1 << 16))
        assert read.samples or read.events


@pytest.mark.parametrize("attack", of({"log_files", "locks"}), ids=named)
def test_each_file_of_the_table_is_written(attack, tmp_path):
    node = AttackedNode(tmp_path / "s", "", "run", tmp_path, tmp_path)
    assert LOCAL["log_files" if attack.sends == "locks" else attack.sends](
        node, 1, **(small(attack) or {"style": "many", "files": 1})
    )
    assert list(tmp_path.glob("hostile-*.log"))


def test_each_connection_of_the_table_begins_with_what_there_is():
    assert {row.arguments["style"] for row in of({"sockets"})} <= {*STYLES}


def test_there_are_sixty_attacks_with_names_of_their_own_through_every_door():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert len(names) >= 60
    doors = "HTTP gRPC|remote write|API|agent socket|agent UDP|agent page|agent files|agent logs"
    assert {*doors.replace("HTTP ", "HTTP|").split("|")} == {row.door for row in ROWS}


def phase(*, took=10.0, mib=100.0, refused=0):
    program = {"mib": mib, "cpu_seconds": 1.0, "answer_seconds": 0.1, "lag_seconds": 0.0}
    return {
        "collector": program,
        "agent": {**program, "mib": 30.0},
        "took_ms": [took] * 50,
        "refused": refused,
    }


def row(attack, during):
    rest = {"mib": 100.0, "agent_mib": 30.0, "lag_seconds": 0.0}
    return {
        "attack": attack,
        "kind": "text",
        "door": "HTTP",
        "incidents": [],
        "lost": 0,
        "before": phase(),
        "during": during,
        "after": phase(),
        "left": rest,
        "restarted": rest,
        "local_seen": 10,
        "local_sent": 10,
        "stopped": {"seconds": 1.0, "agent_seconds": 1.0},
    }


@pytest.mark.parametrize(
    ("during", "expected"),
    [
        (phase(), []),
        (phase(took=19.0, mib=124.0), []),
        (phase(took=21.0), ["p99 x"]),
        (phase(mib=130.0), ["memory x"]),
        (phase(took=900.0, refused=3), ["p99 x", "refused", "p99 ms"]),
    ],
)
def test_what_is_over_its_limit_is_named_worst_first(during, expected):
    found = verdicts([row("none", phase()), row("text-one", during)])
    assert expected == next(one for one in found if one.attack == "text-one").broken


def test_the_page_has_all_numbers_of_each_attack_the_worst_first():
    rows = [row("none", phase()), row("text-one", phase()), row("text-many", phase(took=900.0))]
    written = table(
        {"at": "2026-11-28", "cores": 2, "seconds": 12.0, "wait_seconds": 300.0, "rows": rows}
    )
    lines = [line for line in written.splitlines() if line.startswith("| ") and "---" not in line]
    assert list(LIMITS) == [cell.strip() for cell in lines[0].split("|")][3:-1]
    assert lines[1].startswith("| `text-many`: ")
    assert "**90**" in lines[1]
