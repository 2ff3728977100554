"""Valid inputs of each kind, from which fuzzing starts: of shipped tables and other tests."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import cramjam
from tests.collector.artefacts import hostile
from tests.formats.device_tables import pasted
from tests.formats.flight_recorder import recorder
from tests.formats.nccl import test_ras, test_ras_text
from tests.formats.stacks import dumps
from tests.formats.training_logs import forms

from rankscope.formats import wire
from rankscope.formats.otlp import encode
from rankscope.formats.remote_write import WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.formats.tensorboard import records
from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

_TESTS = Path(__file__).resolve().parents[1]
_AT = 1.79e9
_RESOURCE = TelemetryResource("gpu-12", "run 1", 2, "a")
_GROUPS = [
    (
        _RESOURCE,
        [
            Sample("training.loss", 2.5, _AT, attributes({"rank": 3})),
            Sample("training.step", 7.0, _AT, attributes({"rank": 3})),
            Sample(
                "collective.group.info", 1.0, _AT, attributes({"group": "dp:1", "ranks": "0-8:2,9"})
            ),
            Sample("hw.energy", 1e9, _AT, attributes({"hw.id": "GPU-1", "gpu": 0})),
        ],
    )
]
_EVENTS = [
    (
        _RESOURCE,
        [
            Event("gpu.fault", _AT, {"hw.id": "GPU-1", "code": "79", "pid": 42}, _RESOURCE),
            Event(
                "log.fault", _AT, {"signature": "cuda.oom", "role": "root", "rank": 3}, _RESOURCE
            ),
        ],
    )
]


def metrics_protobuf() -> list[bytes]:
    return [encode.metrics_request(_GROUPS)]


def metrics_json() -> list[bytes]:
    return [encode.metrics_json(_GROUPS).encode()]


def logs_protobuf() -> list[bytes]:
    return [encode.logs_request(_EVENTS)]


def logs_json() -> list[bytes]:
    return [encode.logs_json(_EVENTS).encode()]


def recordings() -> list[bytes]:
    return [metrics_json()[0] + b"\n" + logs_json()[0] + b"\n"]


_SERIES = {"__name__": "DCGM_FI_DEV_SM_CLOCK", "UUID": "GPU-1", "gpu": "3", "Hostname": "gpu-12"}
_OWN = {"__name__": "training_loss", "host_name": "gpu-12", "job_id": "run 1", "rank": "3"}


def remote_write1() -> list[bytes]:
    request = WriteRequest()
    for labels in (_SERIES, _OWN):
        request.add(encoded_labels(labels), int(_AT * 1000), 2.5)
    return [request.body()]


def remote_write1_packed() -> list[bytes]:
    return [bytes(cramjam.snappy.compress_raw(body)) for body in remote_write1()]


def remote_write2() -> list[bytes]:
    symbols = ["", *(text for pair in sorted(_SERIES.items()) for text in pair)]
    references = b"".join(wire.varint(number) for number in range(1, len(symbols)))
    sample = b"\x09" + struct.pack("<d", 1755.0) + b"\x10" + wire.signed(int(_AT * 1000))
    body = b"".join(wire.block(4, symbol.encode()) for symbol in symbols)
    return [body + wire.block(5, wire.block(1, references) + wire.block(2, sample))]


def datagrams() -> list[bytes]:
    samples = tuple(sample for _, rows in _GROUPS for sample in rows)
    events = tuple(event for _, rows in _EVENTS for event in rows)
    return [
        datagram.encode(datagram.ProbeDatagram("run 1", 2, 3, 42, 7, 0, samples, events, 5, "ada"))
    ]


def dumps_of_recorders() -> list[bytes]:
    written = [path.read_bytes() for path in sorted(_TESTS.glob("fixtures/hung_jobs/*/dumps/*"))]
    small = [one for one in written if len(one) < 20_000][:4]
    plain = recorder.dump(3, 2)
    return [plain, json.dumps(hostile.DUMP).encode(), pickle.dumps(hostile.DUMP), *small]


def ras() -> list[bytes]:
    missing = "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
    answers = (test_ras.TEXT, test_ras_text.told("INCOMPLETE", missing), test_ras.answer())
    return [one.encode() for one in answers]


def inspector() -> list[bytes]:
    line = {
        "header": {"id": "0x7f8c496ae9f661", "comm_name": "DP Group 0", "rank": 2, "n_ranks": 8},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "hostname": "h",
            "pid": 1639453,
            "dump_timestamp_us": 1748030377748202,
        },
        "coll_perf": {
            "coll": "AllReduce",
            "coll_sn": 1407,
            "coll_msg_size_bytes": 17179869184,
            "coll_exec_time_us": 61974,
            "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": 277.21,
            "coll_busbw_gbs": 485.12,
        },
    }
    return [json.dumps(line).encode() + b"\n"]


def _texts(package: str, *parts: str) -> Iterator[dict[str, Any]]:
    folder = resources.files(package).joinpath(*parts)
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        if path.name.endswith(".toml"):
            yield tomllib.loads(path.read_text(encoding="utf-8"))


def _examples(held: object) -> Iterator[str]:
    """Yield the texts that stand as examples in a table, however deep."""
    if isinstance(held, dict):
        for name, inner in held.items():
            if name in ("example", "text", "lines") and isinstance(inner, str):
                yield inner
            else:
                yield from _examples(inner)
    elif isinstance(held, list):
        for inner in held:
            yield from _examples(inner)


def _pieces(lines: list[str]) -> list[bytes]:
    """Return the lines in pieces, so that a mutation of one leaves room for others."""
    return ["\n".join(lines[at : at + 12]).encode() + b"\n" for at in range(0, len(lines), 12)]


def training_logs() -> list[bytes]:
    tables = [
        *_texts("rankscope.formats.training_logs"),
        *_texts("rankscope.formats.training_logs", "frameworks"),
        tomllib.loads((_TESTS / "formats/training_logs/fault_lines.toml").read_text()),
    ]
    lines = [line for table in tables for line in _examples(table)]
    written = [line for name in forms.NAMES for line in forms.lines(name)]
    return _pieces([*lines, *written, *forms.FAULTS])


def launcher_logs() -> list[bytes]:
    table = tomllib.loads((_TESTS / "formats/training_logs/launchers/lines.toml").read_text())
    return _pieces(list(_examples(table)))


def kernel_logs() -> list[bytes]:
    names = ("device_lines.log", "signatures.log", "healthy_boot.log")
    texts = [(_TESTS / "formats/kernel_log" / name).read_text() for name in names]
    return _pieces([line for text in texts for line in text.splitlines()][:600])


def kernel_records() -> list[bytes]:
    return [
        b"4,1234,5678901,-;NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off\n SUBSYSTEM=pci\n"
    ]


def stacks() -> list[bytes]:
    return [
        text.encode()
        for name, text in vars(dumps).items()
        if name.isupper() and isinstance(text, str)
    ]


def device_tables() -> list[bytes]:
    return [
        one.encode()
        for one in (pasted.sections({}), pasted.links(), pasted.npu_smi("OK"), test_ras.TEXT)
    ]


def exporter_pages() -> list[bytes]:
    return [path.read_bytes()[:4000] for path in sorted(_TESTS.glob("fixtures/exporters/*.prom"))]


def alert_webhooks() -> list[bytes]:
    alert = {
        "status": "firing",
        "labels": {"alertname": "NodeDiskFull", "instance": "n1:9100"},
        "annotations": {"description": "97% used"},
        "startsAt": "2023-11-14T22:13:20.123456789Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": "00ff",
    }
    return [
        json.dumps({"version": "4", "alerts": [alert, alert | {"status": "resolved"}]}).encode()
    ]


def event_files() -> list[bytes]:
    def record(content: bytes) -> bytes:
        head = struct.pack("<Q", len(content))
        check, after = records.masked(head), records.masked(content)
        return head + struct.pack("<I", check) + content + struct.pack("<I", after)

    summary = wire.block(
        1,
        wire.block(1, b"loss") + wire.tag(2, wire.FIXED32) + struct.pack("<f", 1.5),
    )
    moment = wire.tag(1, wire.FIXED64) + struct.pack("<d", _AT)
    content = moment + wire.tag(2, wire.VARINT) + wire.varint(7) + wire.block(5, summary)
    return [record(content) * 2, content]


def traces() -> list[bytes]:
    events = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1.0, "dur": 2.0, "tid": 1, "pid": 1},
        {"ph": "X", "cat": "python_function", "name": "f", "ts": 0, "dur": 9, "tid": 1},
    ]
    return [json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()]


def settings_files() -> list[bytes]:
    return [
        b"evaluation: {max_jobs: 10, max_ranks_of_job: 5}\nintake:\n  body_limit_bytes: 1000000\n",
        b"http:\n  listen: 127.0.0.1:8470\ntokens:\n  - {token: read-token-01234, role: read}\n",
        b"push: {url: 'http://h:8470', token: x}\nlogs:\n  paths: ['/var/log/*.log']\n",
    ]


def times() -> list[bytes]:
    return [b"2025-01-31T12:00:00Z", b"1738324800", b"2025-01-31T12:00:00.123456789+02:00", b"-1e3"]


def ranks() -> list[bytes]:
    return [b"0-1016:8,9,11-20", b"0,1,2", b"0-1023"]


def pods_of_kubelet() -> list[bytes]:
    devices = wire.block(1, b"nvidia.com/gpu") + wire.block(2, b"GPU-1")
    container = wire.block(1, b"main") + wire.block(2, devices)
    return [wire.block(1, wire.block(1, b"pod") + wire.block(2, b"ns") + wire.block(3, container))]


def cgroups() -> list[bytes]:
    return [
        b"0::/kubepods.slice/kubepods-pod12345678_1234_1234_1234_123456789012.slice/cri-containerd-"
        + b"a" * 64
        + b".scope\n",
        b"0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n",
    ]


def _members() -> dict[str, bytes]:
    return {"rank_0.log": b"".join(hostile.LINES), "fr_0": pickle.dumps(hostile.DUMP)}


def archives() -> list[bytes]:
    packed, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in _members().items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive_:
        for name, data in _members().items():
            archive_.writestr(name, data)
    log = _members()["rank_0.log"]
    return [
        packed.getvalue(),
        zipped.getvalue(),
        gzip.compress(packed.getvalue()),
        gzip.compress(log),
        bz2.compress(log),
        lzma.compress(log),
        bytes(cramjam.zstd.compress(log)),
        log.decode().encode("utf-16"),
    ]


def left_files() -> list[bytes]:
    """Return files of all kinds that a dead job leaves."""
    return [
        *(
            one
            for kind in (dumps_of_recorders, ras, inspector, stacks, device_tables)
            for one in kind()
        ),
        *exporter_pages()[:4],
        *training_logs()[:8],
        *launcher_logs()[:4],
        *kernel_logs()[:4],
        json.dumps([{"line": "x", "timestamp": "2026-05-13T12:00:00Z"}]).encode(),
        json.dumps(
            {
                "message": {
                    "message": "RuntimeError: x",
                    "extraInfo": {"py_callstack": "T", "timestamp": "1700000000"},
                }
            }
        ).encode(),
    ]


def error_files() -> list[bytes]:
    return left_files()[-1:]


def exported_logs() -> list[bytes]:
    rows = [["1700000000000000000", "x"], ["1700000000000000001", "y"]]
    return [left_files()[-2], json.dumps({"data": {"result": [{"values": rows}]}}).encode()]
