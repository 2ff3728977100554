import json
import subprocess
import sys


def doctor(*more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankscope.cli.main", "doctor", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_every_reader_is_told_with_a_reason_where_it_cannot_read():
    done = doctor("--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"cpu", "memory", "trainer_cpu", "throttling", "gpu_power"} <= {
        row["reader"] for row in rows
    }
    assert all(row["reason"] for row in rows if row["state"] not in ("yes", "part"))
    assert all(why for row in rows for why in row["missing"].values())
    assert done.returncode == int(any(row["state"] == "no" for row in rows))


def test_the_table_counts_what_it_found_and_mends_what_it_can():
    done = doctor()
    assert "\ncpu " in f"\n{done.stdout}"
    assert "reports all it could" in done.stdout
    assert done.stderr == ""
    assert done.stdout.count("libnvidia-ml.so.1 is not found") <= 1, "one line for all its readers"
    problems = [json.loads(line) for line in doctor("--json").stdout.splitlines()]
    assert all(row["fix"] for row in problems if row["state"] == "no")
