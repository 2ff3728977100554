"""A case with habits: read from its folder, changed, written to another one."""

import json
from pathlib import Path

from .. import otlp_lines
from . import changing, drawing, requests


def make(source: Path, folder: Path, seed: int) -> None:
    """Write the case of a folder with habits that are drawn from the seed. Raises OSError."""
    sent = requests.read(source / "case.jsonl.gz")
    begin, end = sent[0].at, sent[-1].at
    hosts = {one.host for one in sent if one.host}
    habits = drawing.drawn(seed, source.name, sorted(hosts), begin, end)
    folder.mkdir(parents=True, exist_ok=True)
    lines = (one.text for one in changing.changed(sent, habits))
    otlp_lines.write(folder / "case.jsonl.gz", lines)
    truth = json.loads((source / "truth.json").read_text(encoding="utf-8"))
    truth["minutes"] = (end - begin) / 60.0
    truth["randomised"] = [
        {"habit": row.id, "host": row.host, "amount": row.amount, "at": row.begin} for row in habits
    ]
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
