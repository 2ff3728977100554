"""Short logs are read once, whatever is asked of them, and say what each reader finds."""

from pathlib import Path

import pytest

from rankscope.collector.artefacts.found import ArtefactContents, LogQuote
from rankscope.collector.artefacts.logs import pasted_readings

GROWS = [f"round {n} rss {2.0 + 0.4 * n:.1f} GB" for n in range(30)]
LOST = [f"{n} loss {'nan' if n > 20 else 0.5}" for n in range(30)]
SLOWER = [f"epoch {n} took {900 if n > 20 else 60} s" for n in range(1, 31)]


def told(readings):
    kinds = ("grown", "standing", "lost", "slow")
    return {kind: [log.name for log, _ in getattr(readings, kind)] for kind in kinds}


@pytest.fixture
def files(tmp_path):
    texts = {"grows.log": GROWS, "lost.log": LOST, "slower.log": SLOWER}
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines))
    return {name: tmp_path / name for name in texts}


def test_each_log_is_read_once_for_all_that_it_may_say(files, monkeypatch):
    read: list[str] = []
    whole = Path.read_bytes

    def counted(path):
        read.append(path.name)
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    found = pasted_readings.read(files, {}, ArtefactContents())
    assert {
        "grown": ["grows.log"], "standing": [], "lost": ["lost.log"], "slow": ["slower.log"],
    } == told(found)  # fmt: skip
    assert list(files) == read


def test_where_a_line_speaks_of_a_fault_only_memory_is_asked_for(files):
    found = ArtefactContents(quotes=[LogQuote("a", 1, None, None, "cuda.oom", "root", "full")])
    readings = told(pasted_readings.read(files, {}, found))
    assert {"grown": ["grows.log"], "standing": [], "lost": [], "slow": []} == readings


def test_a_log_that_is_gone_or_long_says_nothing(files, tmp_path):
    files["slower.log"].unlink()
    files["lost.log"].write_bytes(b"\n" * (1 << 20) + files["lost.log"].read_bytes())
    readings = told(pasted_readings.read(files, {}, ArtefactContents()))
    assert {"grown": ["grows.log"], "standing": [], "lost": [], "slow": []} == readings
