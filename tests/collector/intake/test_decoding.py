"""Decoders: what a refused sender writes never reaches a table that others share."""

import weakref

import pytest

from rankscope.collector.intake.decoding import DecoderPool
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.permits import NotPermittedError
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.formats.otlp.columns import SeriesTable


@pytest.fixture
def tables():
    return []


@pytest.fixture
def new_table(tables):
    def make():
        tables.append(SeriesTable(capacity=4))
        return tables[-1]

    return make


def payload(body, *jobs):
    return Payload(PayloadKind.METRICS_PROTOBUF, body, jobs)


def test_a_refused_payload_leaves_nothing_in_anybodys_table(new_table, metrics_body):
    decoders = DecoderPool(new_table)
    shared = decoders.decode(payload(metrics_body(1.0))).table
    assert shared is not None
    with pytest.raises(NotPermittedError):
        decoders.decode(payload(metrics_body(1.0, 2.0, 3.0), "other-*"))
    assert len(shared) == 1
    again = decoders.decode(payload(metrics_body(1.0, 2.0), "run-*"))
    assert again.table is not None
    assert (len(shared), len(again.table)) == (1, 2)


def test_a_full_table_begins_anew_where_the_pipeline_has_room(new_table, tables, metrics_body):
    decoders = DecoderPool(new_table)
    decoders.decode(payload(metrics_body(1.0, 2.0, 3.0, host="a")))
    decoded = decoders.decode(payload(metrics_body(1.0, 2.0, host="b")))
    assert (decoded.accepted, decoded.rejected, len(tables)) == (2, 0, 2)


def test_where_the_pipeline_has_no_room_either_the_sender_is_told(new_table, metrics_body):
    decoders = DecoderPool(new_table, room=lambda: False)
    decoders.decode(payload(metrics_body(1.0, 2.0, 3.0, host="a")))
    decoded = decoders.decode(payload(metrics_body(1.0, 2.0, host="b")))
    assert (decoded.accepted, decoded.rejected) == (1, 1)
    assert "series table is full" in decoded.reason


def test_what_silent_senders_named_is_let_go_of_and_others_keep_theirs(metrics_body):
    at = [0.0]
    decoders = DecoderPool(SeriesTable, now=lambda: at[0])
    silent = weakref.ref(decoders.decode(payload(metrics_body(1.0), "run-*")).table)
    steady = decoders.decode(payload(metrics_body(1.0))).table
    at[0] = 100.0
    decoders.decode(payload(metrics_body(1.0)))
    decoders.forget_silent()
    assert silent() is not None
    at[0] = 130.0
    decoders.forget_silent()
    assert silent() is None
    assert decoders.decode(payload(metrics_body(1.0))).table is steady
