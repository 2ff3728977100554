"""Pages of vendors' exporters, as `curl` saved them: what devices showed then."""

import re
from collections.abc import Mapping
from pathlib import Path

from ....formats import exporters, exposition
from ....formats.remote_write import labels
from ....vocabulary.samples import JOB_SOURCE, Event, Sample, TelemetryResource
from ..found import ArtefactContents, LogQuote
from .kernel_events import FAILED

_SERIES = re.compile(
    rb"^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^\n]*)\} [-+0-9.eEInfNa]+(?: \d+)?\s*$", re.MULTILINE
)
"""A series with labels: those of devices have some, and a line of a log seldom looks like one."""
_LABEL = re.compile(rb'(\w+)="((?:[^"\\\\]|\\\\.)*)"')
_BLOCK = 1 << 20


def is_page(head: bytes) -> bool:
    """Tell whether a file that begins so is a page of an exporter that a table knows."""
    return _table(head) is not None


def read(
    pages: Mapping[str, Path], resource: TelemetryResource, found: ArtefactContents, *, alone: bool
) -> None:
    """Add what each page shows of its devices, at the time when its file was written.

    `alone`: there is nothing else, and the devices are the job's. Else its files say who belongs to
    it, and what a page shows may be of any time: it is quoted, and accuses nobody.
    Codes of faults on a page are left out: an exporter keeps the last one for weeks.
    """
    for name, file in pages.items():
        try:
            at, content = file.stat().st_mtime, file.read_bytes()
            table = _table(content[:_BLOCK])
            if table is None:
                continue
            mapped = exporters.PageMapping(table).read([content], now=at)
        except (OSError, exposition.UnreadablePageError) as error:
            found.unread[name] = f"a page that cannot be read: {error}"
            continue
        host = _host(content[:_BLOCK]) or file.stem
        place = TelemetryResource(host)
        if alone:
            place = TelemetryResource(
                host, resource.job, resource.attempt, extra=((JOB_SOURCE, "labels"),)
            )
        found.samples += [(place, sample) for sample in mapped.samples]
        failed = [_failed(place, one) for one in mapped.samples if _has_failed(one)]
        if failed:
            found.quotes += _quoted(content, table, name, at, "root" if alone else "confirmation")
        if alone:
            found.events += failed
        devices = len(mapped.devices)
        found.read[name] = f"a page of {table.exporter}: {devices} devices of {host}"


def _has_failed(sample: Sample) -> bool:
    return sample.metric == "hw.status" and ("hw.state", "failed") in sample.attributes


def _quoted(
    content: bytes, table: exporters.ExporterTable, file: str, at: float, role: str
) -> list[LogQuote]:
    """Return the lines that call a device failed."""
    mapping = exporters.PageMapping(table)
    return [
        LogQuote(file, number, at, None, FAILED, role, line.decode(errors="replace").strip())
        for number, line in enumerate(content.splitlines(keepends=True), 1)
        if not line.startswith(b"#") and _tells(mapping, line, at)
    ]


def _tells(mapping: exporters.PageMapping, line: bytes, at: float) -> bool:
    try:
        samples = mapping.read([line], now=at).samples
    except exposition.UnreadablePageError:  # a torn line, or one that the page does not need
        return False
    return any(_has_failed(one) for one in samples)


def _failed(place: TelemetryResource, sample: Sample) -> Event:
    """Return as an event that a device is called failed: there is no second page to wait for."""
    pairs = dict(sample.attributes)
    named = {name: pairs[name] for name in ("hw.id", "gpu") if pairs.get(name) is not None}
    text = f"the exporter reports device {pairs['hw.id']} as failed"
    vendor = str(pairs.get("hw.vendor", ""))
    return Event(
        "gpu.fault",
        sample.at,
        {**named, "code": FAILED, "vendor": vendor, "source": "exporter", "text": text},
        place,
    )


def _table(head: bytes) -> exporters.ExporterTable | None:
    names = {found[1].decode() for found in _SERIES.finditer(head)}
    return exporters.detect(names) if names else None


def _host(head: bytes) -> str:
    """Return the host that the labels of a page's series name, "" where none does."""
    for found in _SERIES.finditer(head):
        pairs = {
            pair[1].decode(): pair[2].decode(errors="replace") for pair in _LABEL.finditer(found[2])
        }
        if host := labels.host_of(pairs):
            return host
    return ""
