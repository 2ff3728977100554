"""Pages of vendors' exporters, as `curl` saved them: what devices showed then."""

import re
from collections.abc import Container, Mapping
from contextlib import suppress
from pathlib import Path

from ....formats import exporters, exposition
from ....formats.remote_write import labels
from ....vocabulary.samples import JOB_SOURCE, Event, Sample, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote
from .kernel_events import FAILED

_SERIES = re.compile(
    rb"^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^\n]*)\} [-+0-9.eEInfNa]+(?: \d+)?\s*$", re.MULTILINE
)
"""A series with labels: those of devices have some, and a line of a log seldom looks like one."""
_OF_PAGE = re.compile(
    rb"# (?:HELP|TYPE|UNIT|EOF)\b"
    rb"|[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[^\n]*\})? [-+0-9.eEInfNa]+(?: \d+)?\s*$"
)
_LABEL = re.compile(rb'(\w+)="((?:[^"\\\\]|\\\\.)*)"')
_BLOCK = 1 << 20
_UNCORRECTED = "ecc.uncorrectable"
_MEMORY = frozenset({"hbm", "memory", "sram"})


def is_page(head: bytes) -> bool:
    """Tell whether a file that begins so is a known exporter's page, or all of it has the form."""
    if _table(head) is not None:
        return True
    whole = head[: head.rfind(b"\n") + 1].split(b"\n")
    return all(_OF_PAGE.match(line) for line in whole if line.strip())


def hosts(pages: Mapping[str, Path]) -> set[str]:
    """Return the hosts that pages name: of one a kernel's log beside it is, which names none."""
    found = set[str]()
    for path in pages.values():
        with suppress(OSError), path.open("rb") as opened:  # said where it is read
            found.add(_host(opened.read(_BLOCK)))
    return found - {""}


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
                found.read[name] = "a page of metrics, none of them of a device that is known"
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
            found.shown = max(found.shown or at, at)
        found.samples += [(place, sample) for sample in mapped.samples]
        wrong = {dict(one.attributes)["hw.id"] for one in mapped.samples if _is_wrong(one)}
        failed = [_failed(place, one, wrong) for one in mapped.samples if _has_failed(one)]
        if failed:
            found.quotes += _quoted(content, table, name, at, "root" if alone else "confirmation")
        if alone:
            found.events += failed
        devices = len(mapped.devices)
        found.read[name] = f"a page of {table.exporter}: {devices} devices of {host}"


def _has_failed(sample: Sample) -> bool:
    return sample.metric == "hw.status" and ("hw.state", "failed") in sample.attributes


def _is_wrong(sample: Sample) -> bool:
    """Tell whether a device's memory had errors that ECC did not correct, at whatever time.

    Counts alone accuse nobody; of a device that is called failed they say why.
    """
    pairs = dict(sample.attributes)
    uncorrected = pairs.get("error.type") == "uncorrected" and pairs.get("hw.part") in _MEMORY
    return sample.metric == "hw.errors" and uncorrected and sample.value > 0


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


def _failed(place: TelemetryResource, sample: Sample, wrong: Container[Scalar]) -> Event:
    """Return as an event that a device is called failed: there is no second page to wait for."""
    pairs = dict(sample.attributes)
    named = {name: pairs[name] for name in ("hw.id", "gpu") if pairs.get(name) is not None}
    text = f"the exporter reports device {pairs['hw.id']} as failed"
    code = FAILED
    if pairs["hw.id"] in wrong:
        code, text = _UNCORRECTED, f"{text}, and errors of its memory that were not corrected"
    vendor = str(pairs.get("hw.vendor", ""))
    return Event(
        "gpu.fault",
        sample.at,
        {**named, "code": code, "vendor": vendor, "source": "exporter", "text": text},
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
