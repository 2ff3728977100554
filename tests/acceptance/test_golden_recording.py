"""The golden recording: OTLP JSON lines that replay to one incident, always the same."""

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

from rankscope.cli.main import main
from rankscope.vocabulary.incident_schema import schema

RECORDING = Path(__file__).parents[1] / "fixtures" / "cpu_contention.otlp.jsonl.gz"


def replayed(capsysbinary):
    assert main(["replay", str(RECORDING), "--json"]) == 0
    return capsysbinary.readouterr().out


def test_the_recording_is_small_enough_to_live_in_the_repository():
    assert 10_000 < RECORDING.stat().st_size < 200_000


def test_it_replays_to_one_incident_by_the_contract(capsysbinary):
    (line,) = replayed(capsysbinary).splitlines()
    document = json.loads(line)
    jsonschema.validate(document, schema(), format_checker=jsonschema.FormatChecker())
    first = document["root_cause"]["hypotheses"][0]
    assert first["fault"] == "host.cpu_contention"
    assert first["entity"] == {"type": "host", "id": "gpu-01", "host": "gpu-01", "ranks": [2, 3]}
    assert document["severity"] == "warning"
    # The neighbours came 45 s after the start of the recording, at 08:00:45.
    assert "2026-03-02T08:00:44" < document["opened_at"] < "2026-03-02T08:00:50"
    assert document["opened_at"] <= document["detected_at"] < "2026-03-02T08:01:00"


def test_it_replays_to_the_same_bytes_every_time(capsysbinary):
    assert replayed(capsysbinary) == replayed(capsysbinary)


@pytest.mark.parametrize("lost", ["process.cpu.wait", "system.cpu.utilization"])
def test_the_answer_survives_the_loss_of_one_of_its_signals(lost, tmp_path, capsys):
    """No single sensor carries the verdict: without either of them the other evidence does."""
    poorer = tmp_path / "poorer.jsonl"
    with gzip.open(RECORDING, "rt", encoding="utf-8") as lines, poorer.open("w") as out:
        for line in lines:
            body = json.loads(line)
            for resource in body.get("resourceMetrics", []):
                for scope in resource["scopeMetrics"]:
                    kept = [row for row in scope["metrics"] if row["name"] != lost]
                    scope["metrics"] = kept
            out.write(json.dumps(body) + "\n")
    assert main(["replay", str(poorer), "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    first = json.loads(line)["root_cause"]["hypotheses"][0]
    assert (first["fault"], first["entity"]["id"]) == ("host.cpu_contention", "gpu-01")
