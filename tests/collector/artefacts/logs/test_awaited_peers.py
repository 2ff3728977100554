"""Starts whose log ends as they wait for their peers, again and again."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.recordings.otlp_lines import RecordingError

STARTED = "reading the settings\nlistening on port 2222\n"
WAITS = {
    "LightGBM": "[LightGBM] [Warning] Connecting to rank 3 failed, waiting for {} milliseconds\n",
    "TensorFlow": "2026-03-01 10:02:{}: I master.cc:221] CreateSession still waiting for response "
    "from worker: /job:ps/replica:0/task:1\n",
    "XLA": "2026-03-01 10:02:{}: E rendezvous.cc:38] This thread has been waiting for `initialize "
    "clique for rank 2; devices=[0,1,2,3]` for 10 seconds and may be stuck. Expected 4 threads\n",
    "a store": "Waiting in store based barrier to initialize process group for rank: 0, key: k:1 "
    "(world_size=2, worker_count=4, timeout=0:{}:00)\n",
    "an operator": "waiting for master: job-a-master-{}\n",
    "a loop of one's own": "could not connect, retry {} to connect to node-7\n",
    "a cluster's worker": "distributed.worker - INFO - Waiting to connect, try {}: waiting for "
    "scheduler tcp://10.0.0.4:8786\n",
}


def severity(explain, folder):
    """Return how grave what is said is, "" where nothing is, or nothing could be read."""
    try:
        document = explain(folder).document()
    except RecordingError:
        return ""
    return "" if document is None else document["severity"]


def repeated(form, times):
    return "".join(form.format(10 + n) for n in range(times))


@pytest.mark.parametrize("form", WAITS.values(), ids=WAITS)
def test_a_start_that_waits_for_peers_down_to_the_end_of_its_log_failed(explain, tmp_path, form):
    (tmp_path / "job.log").write_text(STARTED + repeated(form, 5))
    diagnosis = explain(tmp_path)
    assert "software.init_failed" == said(diagnosis)[0]
    (quote,) = diagnosis.document()["leftovers"]["lines"]
    assert (7, "cascade") == (quote["line"], quote["role"])


@pytest.mark.parametrize("form", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize(
    ("times", "after"),
    [
        (2, ""),
        (5, "connected to rank 3\n"),
        (5, "This thread is unstuck! The warning above was a false positive\n"),
        (5, "total bins: 255\nboosting begins\nsaving the model\n"),
        (5, "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))),
    ],
    ids=["twice", "who came", "unstuck", "what else is done", "steps"],
)
def test_one_that_goes_on_or_has_only_begun_did_not(explain, tmp_path, form, times, after):
    (tmp_path / "job.log").write_text(STARTED + repeated(form, times) + after)
    assert severity(explain, tmp_path) in ("", "info")


@pytest.mark.parametrize(
    "line",
    [
        "waiting for all processes to finish",
        "waiting for the data set to be built",
        "retry 3 to connect to https://hub.example.org/api",
        "waiting for requests of workers",
    ],
)
def test_who_waits_for_something_else_does_not_wait_for_a_peer(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(STARTED + f"{line}\n" * 6)
    assert severity(explain, tmp_path) in ("", "info")


def test_where_another_log_has_steps_the_job_had_started(explain, tmp_path):
    (tmp_path / "a.log").write_text(STARTED + repeated(WAITS["an operator"], 6))
    (tmp_path / "b.log").write_text("".join(f"iter {n}: tokens 12\n" for n in range(1, 9)))
    assert severity(explain, tmp_path) in ("", "info")


def test_where_another_log_says_what_broke_that_is_the_cause(explain, tmp_path):
    (tmp_path / "a.log").write_text(STARTED + repeated(WAITS["an operator"], 6))
    (tmp_path / "b.log").write_text(
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n'
        "ValueError: bad sample\n"
    )
    assert "software.crash" == said(explain(tmp_path))[0]


def test_more_workers_than_ranks_are_keys_of_an_earlier_start(explain, tmp_path):
    (tmp_path / "job.log").write_text(STARTED + repeated(WAITS["a store"], 4))
    assert any("4 workers came" in one for one in explain(tmp_path).leftovers()["missing"])
