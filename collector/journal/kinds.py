"""The kinds of journal records. Numbers are on disk: add, never renumber."""

from enum import IntEnum


class PayloadKind(IntEnum):
    """What the payload of a record is."""

    STOP = 0
    """No payload: evaluation had reached this time when the collector stopped cleanly."""
    METRICS_PROTOBUF = 1
    LOGS_PROTOBUF = 2
    METRICS_JSON = 3
    LOGS_JSON = 4
    REMOTE_WRITE = 5
    ACTION = 8
    """JSON: something a person did (see `actions`)."""
    SKIPPED = 9
    """JSON: seconds that evaluation skipped; only in the partition "evaluation"."""
    REMOTE_WRITE_2 = 10
    """io.prometheus.write.v2.Request."""
    TIME = 11
    """No payload: it was this time. The log of several collectors has the only clock they share."""

    SHARED = 12
    """JSON: what another partition has sent about incidents (see `alerts.shared.messages`)."""


TELEMETRY = frozenset(PayloadKind) - {
    PayloadKind.STOP,
    PayloadKind.ACTION,
    PayloadKind.SKIPPED,
    PayloadKind.TIME,
    PayloadKind.SHARED,
}
"""Kinds of what agents and other senders measured."""

METRICS_TEMPLATE = 6
METRICS_COLUMNS = 7
"""How METRICS_PROTOBUF may stand in a file (see `columns`); no entry has these."""
