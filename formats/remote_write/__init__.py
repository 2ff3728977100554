"""Prometheus remote write 1.0 and 2.0: bytes to columns in the names of the vocabulary, and back.

`version1` and `version2` walk the wire, `labels` and `exported` say what a set of labels is in the
contract's terms, `decoder` makes columns of it, `encode` writes WriteRequests. `passed_on` takes
what an OpenTelemetry Collector scraped and sends by OTLP.

In: WriteRequests, or series. Out: columns, or WriteRequests. Imports: vocabulary; exporters,
exposition, fault_reports, otlp, wire.
"""

from .decoder import LIMIT, RemoteWriteDecoder, decode
from .encode import WriteRequest
from .passed_on import PassedOnDecoder

__all__ = ["LIMIT", "PassedOnDecoder", "RemoteWriteDecoder", "WriteRequest", "decode"]
