import json
import subprocess
import sys


def doctor(*more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankscope.cli.main", "doctor", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_every_reader_is_told_with_a_reason_where_it_cannot_read():
    done = doctor("--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"cpu", "memory", "trainer_cpu", "throttling"} <= {row["reader"] for row in rows}
    assert all(row["supported"] or row["reason"] for row in rows)
    assert done.returncode == (0 if all(row["supported"] for row in rows) else 1)


def test_the_table_says_what_nobody_looks_at_yet():
    done = doctor()
    assert "\ncpu " in f"\n{done.stdout}"
    assert "accelerators" in done.stdout
    assert done.stderr == ""
