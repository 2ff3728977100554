"""Results as a document and as events: what the collector decodes is what was judged."""

from rankscope.checks import telemetry
from rankscope.checks.judging import JudgedCheck
from rankscope.formats.otlp import encode, json_decode
from rankscope.formats.otlp.text_bounds import TextBounds
from rankscope.vocabulary import events

SLOW = JudgedCheck(
    "matmul", "GPU-1", 90.0, "{operation}/s", "slow", "10% below 100", 100.0, (95.0, 105.0),
    "12 hosts", "H200",
)  # fmt: skip
UNKNOWN = JudgedCheck("peer_copy", "host", None, "By/s", "not_measured", "one device")


def test_the_document_has_what_the_contract_names():
    found = telemetry.document("gpu-1", 1_700_000_000.0, [SLOW, UNKNOWN])
    assert {"host", "at", "verdict", "results"} == set(found)
    assert ("gpu-1", "2023-11-14T22:13:20.000Z", "slow") == (
        found["host"],
        found["at"],
        found["verdict"],
    )
    assert {
        "check": "matmul",
        "device": "GPU-1",
        "value": 90.0,
        "unit": "{operation}/s",
        "expected": 100.0,
        "interval": [95.0, 105.0],
        "compared_with": "12 hosts",
        "verdict": "slow",
        "reason": "10% below 100",
        "kind": "H200",
    } == found["results"][0]
    assert (None, None) == (found["results"][1]["value"], found["results"][1]["interval"])


def test_a_collector_reads_the_events_as_they_were_sent():
    said = telemetry.events("gpu-1", 1_700_000_000.0, [SLOW, UNKNOWN], incident="ab")
    body = encode.logs_json((one.resource, [one]) for one in said)
    batch = json_decode.decode_logs(body, TextBounds())
    slow, unknown = batch.events
    assert ("check.result", 1_700_000_000.0, "gpu-1") == (slow.name, slow.at, slow.resource.host)
    assert (90.0, "slow", 95.0, "ab") == tuple(
        slow.attributes[name] for name in ("value", "verdict", "interval.low", "incident")
    )
    assert "value" not in unknown.attributes
    assert set(slow.attributes) <= set(events.catalogue()["check.result"].attributes)
