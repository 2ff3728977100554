"""All that reads bytes of others: its name, its valid inputs, and what it may raise."""

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzzing import seeds

from rankscope.agent.attribution import cgroups, pod_resources
from rankscope.agent.settings import AgentSettings
from rankscope.collector.artefacts import kinds
from rankscope.collector.recordings import otlp_lines
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.formats import (
    alertmanager,
    chrome_trace,
    exporters,
    exposition,
    flight_recorder,
    kernel_log,
    remote_write,
    segments,
    training_logs,
)
from rankscope.formats.device_tables import reading as device_tables
from rankscope.formats.flight_recorder import debug_server
from rankscope.formats.nccl import inspector, ras
from rankscope.formats.otlp import decode as otlp
from rankscope.formats.otlp import splitting
from rankscope.formats.otlp.errors import UndecodableError
from rankscope.formats.otlp.series import SeriesTable
from rankscope.formats.remote_write.splitting import WriteSplitter
from rankscope.formats.stacks import places
from rankscope.formats.stacks import reading as stacks
from rankscope.formats.tensorboard import EventParser
from rankscope.formats.training_logs import error_files, exports, launchers
from rankscope.formats.wire import WireError
from rankscope.settings import SettingsError, load
from rankscope.vocabulary import datagram, times
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.samples import TelemetryResource

_AT = 1.79e9


@dataclass(frozen=True, slots=True)
class FuzzedDecoder:
    """One decoder. `read` takes all of an input; each call starts anew and keeps nothing."""

    name: str
    read: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    refusals: tuple[type[Exception], ...] = ()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()


def _plain1(data: bytes) -> object:
    return remote_write.RemoteWriteDecoder(SeriesTable()).plain(data)


def _plain2(data: bytes) -> object:
    return remote_write.RemoteWriteDecoder(SeriesTable()).plain2(data)


def _everywhere(_resource: TelemetryResource) -> frozenset[int]:
    return frozenset({0})


def _training_log(data: bytes) -> object:
    parser = training_logs.TrainingLogParser(rank=None)
    return [*parser.feed(data, _AT), *parser.end(_AT)]


def _kernel_log(data: bytes) -> object:
    reading = kernel_log.KernelLogReading(None, _AT)
    parser = kernel_log.KernelLogParser()
    found: list[object] = []
    written = enumerate(data.splitlines(keepends=True), start=1)
    for line in reading.read((number, one, True) for number, one in written):
        found += parser.feed(line.text, _AT)
        found.append(reading.when(line))
    reading.settle(_AT)
    return found


def _exporter_page(data: bytes) -> object:
    names = [series.name for series, _ in exposition.parse(data, now=_AT).values]
    table = exporters.detect(names) or exporters.hosts()
    return exporters.PageMapping(table).read([data], now=_AT)


def _recorder(data: bytes) -> object:
    found = flight_recorder.read(data)
    ledger = flight_recorder.DumpLedger({0: found, 1: found})
    for rank in (0, 1):
        ledger.progress(rank)
        ledger.standing(rank, _AT)
        ledger.operations(rank)
    return list(ledger.mismatches()), list(ledger.timed_out(_AT))


def _event_file(data: bytes) -> object:
    return EventParser(rank=0).feed(data)


def _stack_dump(data: bytes) -> object:
    return [places.of(one) for one in stacks.processes(io.BytesIO(data))]


def _debug_pages(data: bytes) -> object:
    text = data.decode("utf-8", "replace")
    lines = text.splitlines()
    return debug_server.lists(text), list(debug_server.stacks(lines)), debug_server.silent(lines)


def _in_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def written(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="rs-fuzz-") as folder:
            path = Path(folder) / "rank_0.log"
            path.write_bytes(data)
            return read(path)

    return written


def _left_file(path: Path) -> object:
    return kinds.gather([path], TelemetryResource("", job="job", attempt=0))


def _settings_of_collector(path: Path) -> object:
    return load(CollectorSettings, path=path, environ={})


def _settings_of_agent(path: Path) -> object:
    return load(AgentSettings, path=path, environ={})


def _recording(path: Path) -> object:
    to = path.with_suffix(".jsonl")
    path.rename(to)
    return list(otlp_lines.lines([to], warn=lambda _: None))


def _segment(path: Path) -> object:
    return list(segments.read(path, torn=lambda *_: None))


DECODERS = (
    FuzzedDecoder(
        "otlp-metrics-protobuf",
        lambda data: otlp.MetricsDecoder(SeriesTable()).protobuf(data),
        seeds.metrics_protobuf,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "otlp-metrics-json",
        lambda data: otlp.MetricsDecoder(SeriesTable()).json(data),
        seeds.metrics_json,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "otlp-logs-protobuf", otlp.logs_protobuf, seeds.logs_protobuf, (UndecodableError,)
    ),
    FuzzedDecoder("otlp-logs-json", otlp.logs_json, seeds.logs_json, (UndecodableError,)),
    FuzzedDecoder(
        "otlp-splitting",
        lambda data: splitting.RequestSplitter().protobuf(data),
        seeds.metrics_protobuf,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "otlp-json-splitting",
        lambda data: splitting.of_json(data, "resourceMetrics"),
        seeds.metrics_json,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "otlp-recording", _in_file(_recording), seeds.recordings, (otlp_lines.RecordingError,)
    ),
    FuzzedDecoder("remote-write-1", _plain1, seeds.remote_write1, (UndecodableError,)),
    FuzzedDecoder(
        "remote-write-1-packed",
        lambda data: remote_write.decode(data, SeriesTable()),
        seeds.remote_write1_packed,
        (UndecodableError,),
    ),
    FuzzedDecoder("remote-write-2", _plain2, seeds.remote_write2, (UndecodableError,)),
    FuzzedDecoder(
        "remote-write-1-splitting",
        lambda data: WriteSplitter().version1(data, _everywhere),
        seeds.remote_write1,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "remote-write-2-splitting",
        lambda data: WriteSplitter().version2(data, _everywhere),
        seeds.remote_write2,
        (UndecodableError,),
    ),
    FuzzedDecoder(
        "datagram",
        datagram.decode,
        seeds.datagrams,
        (datagram.DatagramError, OverflowError, RecursionError),
    ),
    FuzzedDecoder(
        "recorder-dump", _recorder, seeds.dumps_of_recorders, (flight_recorder.DumpError,)
    ),
    FuzzedDecoder("debug-pages", _debug_pages, seeds.stacks),
    FuzzedDecoder(
        "ras", lambda data: ras.answers(io.StringIO(data.decode("utf-8", "replace"))), seeds.ras
    ),
    FuzzedDecoder(
        "inspector", lambda data: list(inspector.read(io.BytesIO(data))), seeds.inspector
    ),
    FuzzedDecoder("training-log", _training_log, seeds.training_logs),
    FuzzedDecoder(
        "launcher-log", lambda data: list(launchers.read([data], near=_AT)), seeds.launcher_logs
    ),
    FuzzedDecoder("error-file", error_files.read, seeds.error_files),
    FuzzedDecoder("exported-log", lambda data: exports.held(io.BytesIO(data)), seeds.exported_logs),
    FuzzedDecoder("kernel-log", _kernel_log, seeds.kernel_logs),
    FuzzedDecoder("kernel-record", kernel_log.record, seeds.kernel_records),
    FuzzedDecoder("stack-dump", _stack_dump, seeds.stacks),
    FuzzedDecoder(
        "device-table",
        lambda data: device_tables.read(enumerate(_lines(data), start=1)),
        seeds.device_tables,
    ),
    FuzzedDecoder(
        "exporter-page", _exporter_page, seeds.exporter_pages, (exposition.UnreadablePageError,)
    ),
    FuzzedDecoder("alert-webhook", alertmanager.read, seeds.alert_webhooks, (UndecodableError,)),
    FuzzedDecoder("event-file", _event_file, seeds.event_files),
    FuzzedDecoder(
        "chrome-trace",
        lambda data: chrome_trace.summary(data.decode("utf-8", "replace")),
        seeds.traces,
        (chrome_trace.TraceError,),
    ),
    FuzzedDecoder("archive", _in_file(_left_file), seeds.archives, (otlp_lines.RecordingError,)),
    FuzzedDecoder(
        "left-file", _in_file(_left_file), seeds.left_files, (otlp_lines.RecordingError,)
    ),
    FuzzedDecoder(
        "collector-settings",
        _in_file(_settings_of_collector),
        seeds.settings_files,
        (SettingsError,),
    ),
    FuzzedDecoder(
        "agent-settings", _in_file(_settings_of_agent), seeds.settings_files, (SettingsError,)
    ),
    FuzzedDecoder("time", lambda data: times.parse(_text(data)), seeds.times, (ValueError,)),
    FuzzedDecoder("ranks", lambda data: RankSet.parse(_text(data)), seeds.ranks, (ValueError,)),
    FuzzedDecoder(
        "pods-of-kubelet",
        lambda data: pod_resources.decode(data, resources=["nvidia.com/gpu"]),
        seeds.pods_of_kubelet,
        (WireError,),
    ),
    FuzzedDecoder("cgroup", lambda data: cgroups.parse(_text(data)), seeds.cgroups),
)
