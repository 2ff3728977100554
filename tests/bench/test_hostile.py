"""The table of attacks: each row sends what the decoders read, and is of a bound that there is."""

from pathlib import Path

import pytest

from bench.hostile.attacks import attacks
from bench.hostile.payloads import LOGS, payload
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder, logs_protobuf

ROOT = Path(__file__).parents[2]

SMALL = {"records": 2, "text_bytes": 300, "jobs": 3, "attempts": 3, "hosts": 3, "name_bytes": 900}


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_each_attack_sends_what_can_be_read(attack):
    arguments = {key: SMALL.get(key, value) for key, value in attack.arguments.items()}
    path, body = payload(attack.sends, 1, arguments)
    if path == LOGS:
        logs = logs_protobuf(body)
        assert (True, 0) == (bool(logs.events), logs.rejected)
    else:
        metrics = MetricsDecoder(SeriesTable()).protobuf(body)
        assert (True, 0) == (len(metrics.columns) > 0, metrics.rejected)


def test_names_are_their_own_and_stand_on_the_page_about_threats():
    names = [attack.name for attack in attacks()]
    assert len(names) == len(set(names))
    page = (ROOT / "docs/threats.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in names)
