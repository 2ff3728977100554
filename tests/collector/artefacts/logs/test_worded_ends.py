"""Last words of logs in wordings that no table has: their family tells the cause."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

STARTED = "lattice 4.1 starts training\n4 workers planned\nplan compiled\n"
STEPS = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))
RAISED = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n'


def answer(explain, folder, text):
    (folder / "job.log").write_text(text)
    diagnosis = explain(folder)
    return "" if diagnosis.document() is None else said(diagnosis)[0]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("lattice::Pool: no more memory on device 2 (wanted 6 GiB)", "memory.gpu_oom"),
        ("lattice: could not allocate 3221225472 bytes of pinned host memory", "memory.host_oom"),
        ("queue: not enough space in /dev/shm for another batch", "memory.shm_exhausted"),
        ("snapshot: disk /scratch is full", "host.disk_full"),
        ("sync_tree: rank 2 has 101 bytes, length does not match", "software.collective_mismatch"),
        ("Trainer: loss blew up to 9e20, giving up", "numerics.divergence"),
        ("controller: worker node of this job was reclaimed, node shutdown", "host.evicted"),
        ("supervisor: trainer process died", "software.crash"),
    ],
)
def test_the_last_words_of_a_training_name_their_cause(explain, tmp_path, line, fault):
    assert fault == answer(explain, tmp_path, STARTED + STEPS + line + "\n")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("unable to reach coordinator 10.0.0.1:6123", "software.init_failed"),
        ("worker 2: handshake with 10.0.0.7:5599 failed", "software.init_failed"),
        ("FATAL plan.cc:31: operation not implemented for this backend", "software.init_failed"),
        ("ERROR init: driver 470.57 is incompatible with runtime 12.4", "host.config_drift"),
    ],
)
def test_those_of_a_log_without_a_step_tell_why_it_did_not_start(explain, tmp_path, line, fault):
    assert fault == answer(explain, tmp_path, STARTED + line + "\n")


@pytest.mark.parametrize("line", ["handshake failed", "FATAL plan.cc:31: not implemented"])
def test_an_excerpt_that_holds_nothing_else_may_be_of_any_time(explain, tmp_path, line):
    assert "unknown" == answer(explain, tmp_path, f"ERROR {line}\n")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("LatticeError: no more memory on device 2", "memory.gpu_oom"),
        ("OSError: volume /ckpt is full", "host.disk_full"),
        ("LatticeError: handshake with 10.0.0.7 failed", "software.crash"),
    ],
)
def test_beside_an_exception_it_counts_where_it_says_why(explain, tmp_path, message, fault):
    assert fault == answer(explain, tmp_path, STARTED + STEPS + RAISED + message + "\n")


def test_what_native_code_prints_above_its_end_says_why(explain, tmp_path):
    text = "terminate called after throwing an instance of 'lattice::Error'\n"
    text += (
        "  what():  pool.cc:13\nGPUassert: allocation failed pool.cu 32\nAborted (core dumped)\n"
    )
    assert "memory.gpu_oom" == answer(explain, tmp_path, STARTED + STEPS + text)


@pytest.mark.parametrize(
    "after",
    [STEPS, "worker 2 connected\n", "a\nb\nc\n"],
    ids=["steps", "it came about", "other work"],
)
def test_what_the_job_went_on_after_is_no_end(explain, tmp_path, after):
    text = STARTED + "worker 2: handshake with 10.0.0.7:5599 failed\n" + after
    assert answer(explain, tmp_path, text) in ("", "unknown")


def test_a_known_line_knows_better(explain, tmp_path):
    line = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    text = STARTED + STEPS + RAISED + line + "supervisor: GPU alloc failed\n"
    assert "software.crash" == answer(explain, tmp_path, text)


def test_a_source_line_that_a_traceback_shows_is_no_message(explain, tmp_path):
    shown = '  File "b.py", line 2, in f\n    raise Full("disk is full, no space")\n'
    text = STARTED + STEPS + RAISED + shown + "KeyError: 3\n"
    assert "software.crash" == answer(explain, tmp_path, text)


def test_what_is_tried_again_and_again_down_to_the_end_was_never_reached(explain, tmp_path):
    line = "pod-a:7:9 [0] NCCL INFO socketPollConnect: connect returned No route to host, retrying"
    text = "".join(f"{line} ({number}/34)\n" for number in range(26, 35))
    assert "software.init_failed" == answer(explain, tmp_path, text)


MET = "node 3: connected to node 0\nnode 3: connected to node 1\n"
CUT = "[Fatal] node 3: socket recv error, connection reset by peer\n"


@pytest.mark.parametrize(
    "rows",
    [
        MET,
        MET + "iteration 1 done, 4.2 s\niteration 2 done, 4.1 s\n",
        "[0]\ttrain-rmse:0.51\n[1]\ttrain-rmse:0.49\n",
    ],
    ids=["peers that had met", "rows without a value", "rows of boosted trees"],
)
def test_a_connection_that_is_cut_later_is_no_start_that_failed(explain, tmp_path, rows):
    assert answer(explain, tmp_path, STARTED + rows + CUT) in ("", "unknown")


def test_one_that_is_cut_as_peers_meet_is(explain, tmp_path):
    assert "software.init_failed" == answer(explain, tmp_path, STARTED + CUT)


@pytest.mark.parametrize(("fault", "guess", "known"), [
    ("memory.gpu_oom", "lattice::Pool: no more memory on device 2 (wanted 6 GiB)",
     "cudaGetLastError out of memory errno:2"),
    ("host.disk_full", "ERROR lattice: the volume /ckpt is full, state not written",
     "OSError: [Errno 28] No space left on device"),
])  # fmt: skip
def test_a_guess_is_less_sure_than_a_known_line(explain, tmp_path, fault, guess, known):
    def probability(line):
        (tmp_path / "job.log").write_text(STARTED + STEPS + line + "\n")
        document = explain(tmp_path).document()
        hypothesis = document["root_cause"]["hypotheses"][0]
        assert fault == hypothesis["fault"]
        return hypothesis["probability"]

    assert probability(guess) < probability(known)
