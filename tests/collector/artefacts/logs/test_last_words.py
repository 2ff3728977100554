"""A log that ends in an error whose words no table has: quoted, of unknown cause, as news."""

import pytest
from tests.collector.artefacts.test_always_an_answer import NO_SPACE, said

from rankscope.collector.recordings.otlp_lines import RecordingError

UNKNOWN = "2026-03-01 10:02:11 [E] lattice: worker 3 lost its phase, giving up\n"
STEPS = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))


def quoted(diagnosis):
    document = diagnosis.document()
    return [(one["file"], one["line"], one["text"]) for one in document["leftovers"]["lines"]]


@pytest.mark.parametrize(
    "line",
    [
        UNKNOWN,
        "E0301 10:02:11.123456 4021 plan.cc:88] worker 3 lost its phase\n",
        '{"ts": 1, "level": "error", "msg": "worker 3 lost its phase"}\n',
        "time=10:02 level=fatal msg=phase\n",
        "trainer: error: worker 3 lost its phase\n",
        "PhaseError: worker 3\n",
        "ERROR worker-3 lost its phase\n",
        "错误\uff1a工作进程 3 失去相位\n",
    ],
)
def test_its_first_error_is_quoted_with_its_line_and_no_cause_is_named(explain, tmp_path, line):
    (tmp_path / "job.log").write_text("starting\n" + STEPS + line + "bye\n")
    diagnosis = explain(tmp_path)
    assert ("unknown", "job", "job") == said(diagnosis)
    assert "info" == diagnosis.document()["severity"]
    assert [("job.log", 10, line.strip())] == quoted(diagnosis)


@pytest.mark.parametrize("line", [
    "RuntimeError: the phase was lost",
    "lattice.errors.PhaseError: worker 3 has none",
    "lattice.runtime.errors.OutOfPhase: worker 3 has none",
])  # fmt: skip
def test_an_exception_as_the_last_line_is_that_by_which_its_process_ended(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(STEPS + UNKNOWN + line + "\n\n")
    diagnosis = explain(tmp_path)
    assert "software.crash" == said(diagnosis)[0]
    assert ("job.log", 10, line) in quoted(diagnosis)


@pytest.mark.parametrize("line", [
    "torch.distributed.DistBackendError: no phase",  # follows from another rank
    "PhaseError",  # a word, and no message
    "lattice.Trainer: done",  # whoever says so
    "KeyboardInterrupt: stopped",
])  # fmt: skip
def test_one_that_another_rank_or_a_person_caused_is_not(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(STEPS + line + "\n")
    document = explain(tmp_path).document()
    assert document is None or "unknown" == document["root_cause"]["hypotheses"][0]["fault"]


@pytest.mark.parametrize(
    "line",
    [
        "W0301 10:02:11.123456 4021 plan.cc:88] ERROR is what comes next\n",
        "[WARNING] 0 errors: ERROR count 0\n",
        "done without errors: error: none\n",
        "[  812.112233] foo: ERROR 5\n",
        "loaded the module errors.Error\n",
    ],
)
def test_what_is_no_error_is_none_at_the_end_either(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(STEPS + line)
    assert explain(tmp_path).document() is None


@pytest.mark.parametrize("after", [STEPS, "Training complete\n"])
def test_an_error_below_which_the_job_went_on_is_none_of_its_end(explain, tmp_path, after):
    (tmp_path / "job.log").write_text(STEPS + UNKNOWN + after)
    assert explain(tmp_path).document() is None


def test_an_error_behind_a_bar_is_of_the_end_and_what_is_above_it_is_not(explain, tmp_path):
    bar = " 16%|█▋        | 1044/6400 [1:16:09<1:07:04,  1.33it/s]"
    (tmp_path / "job.log").write_text(STEPS + UNKNOWN + bar + UNKNOWN)
    assert [("job.log", 10, UNKNOWN.strip())] == quoted(explain(tmp_path))


def test_where_a_line_names_a_fault_the_words_of_others_are_not_asked_for(explain, tmp_path):
    (tmp_path / "a.log").write_text(NO_SPACE)
    (tmp_path / "b.log").write_text(UNKNOWN)
    assert [("a.log", 1, NO_SPACE.strip())] == quoted(explain(tmp_path))


def test_the_line_of_a_long_log_is_counted_from_its_beginning(explain, tmp_path):
    (tmp_path / "job.log").write_text("nothing to see\n" * 300_000 + UNKNOWN)
    assert [("job.log", 300_001, UNKNOWN.strip())] == quoted(explain(tmp_path))


def test_a_folder_in_which_nothing_else_can_be_read_has_an_answer_all_the_same(explain, tmp_path):
    (tmp_path / "job.log").write_text(UNKNOWN)
    diagnosis = explain(tmp_path)
    assert {} == diagnosis.found.unread
    assert "unknown" == said(diagnosis)[0]


SETTING_UP = {
    "nccl": "pod-b:435:783 [0] NCCL INFO Ring 00 : 0 -> 8 [receive] via NET/Socket/0",
    "lightning": "All distributed processes registered. Starting with 4 processes",
    "a loop of one's own": "rank 3: waiting for all workers",
    "an epoch": "Epoch 1/20",
    "an epoch's banner": "===> Epoch: [0]",
    "a start at an epoch": "Starting at epoch 0",
    "a parameter server": "[12:00:33] src/van.cc:75: Bind to role=worker, ip=10.0.0.7, port=4128",
    "its scheduler": "[12:00:41] src/van.cc:161: ? => 1. Meta: request=0, control={ cmd=ADD_NODE }",
    "TensorFlow's": "grpc_server_lib.cc:375] Started server with target: grpc://localhost:2222",
    "a call of Neuron's runtime": "DEBUG  NRT:nrt_load      API:IN: (start_nc=0, nc_count=1)",
    "words of one's own": "node 2: connecting to 10.0.0.1:29500",
}


@pytest.mark.parametrize("line", SETTING_UP.values(), ids=SETTING_UP)
def test_a_start_whose_log_ends_while_it_sets_something_up_is_quoted_as_news(
    explain, tmp_path, line
):
    (tmp_path / "job.log").write_text("starting\n" + line + "\n---\n\n")
    diagnosis = explain(tmp_path)
    assert "info" == diagnosis.document()["severity"]
    assert [("job.log", 2, line)] == quoted(diagnosis)


@pytest.mark.parametrize("line", ["bash: accelerate: not found", "could not open the data set"])
def test_a_start_that_ends_with_what_was_refused_is_quoted_as_news(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(f"{SETTING_UP['lightning']}\n{line}\n")
    diagnosis = explain(tmp_path)
    assert ("unknown", "info") == (said(diagnosis)[0], diagnosis.document()["severity"])
    assert [("job.log", 2, line)] == quoted(diagnosis)


@pytest.mark.parametrize(
    "text", ["wandb could not log in\n" + STEPS, STEPS + "wandb could not log in\n"]
)
def test_a_job_that_made_steps_and_was_refused_something_is_healthy(explain, tmp_path, text):
    (tmp_path / "job.log").write_text(text)
    assert explain(tmp_path).document() is None


@pytest.mark.parametrize(
    "after", [STEPS, "pod-b:1:1 [0] NCCL INFO comm 0x7 rank 1 - Init COMPLETE\n"]
)
def test_a_start_that_went_on_is_not(explain, tmp_path, after):
    (tmp_path / "job.log").write_text(SETTING_UP["lightning"] + "\n\n\nready\n" + after)
    (tmp_path / "other.log").write_text(STEPS)
    assert explain(tmp_path).document() is None


def test_a_call_that_came_back_is_not_what_a_start_waits_for(explain, tmp_path):
    line = SETTING_UP["a call of Neuron's runtime"]
    (tmp_path / "job.log").write_text(f"{line}\n{line.replace('IN: ', 'OUT: ')}\n")
    (tmp_path / "other.log").write_text(UNKNOWN)
    assert ["other.log"] == [one[0] for one in quoted(explain(tmp_path))]


@pytest.mark.parametrize("bar", ["  0%|          | 0/32 [00:00<?, ?it/s]", "  0%|"])
def test_a_bar_at_the_end_that_did_not_move_is_quoted_as_news(explain, tmp_path, bar):
    (tmp_path / "job.log").write_text(f"{STEPS}{bar}")
    diagnosis = explain(tmp_path)
    assert ("unknown", "job", "job") == said(diagnosis)
    assert "info" == diagnosis.document()["severity"]
    assert [("job.log", 9)] == [one[:2] for one in quoted(diagnosis)]


@pytest.mark.parametrize("bar", ["  3%|3         | 1/32 [00:01<00:31, 1.0it/s]", "100%|##| 32/32"])
def test_a_bar_that_moved_is_not(explain, tmp_path, bar):
    (tmp_path / "job.log").write_text(f"{STEPS}{bar}")
    assert explain(tmp_path).incident is None


INTERRUPTED = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    spawn()\n'
    '  File "spawn.py", line 171, in spawn\n    while not context.join():\nKeyboardInterrupt\n'
)


def test_a_start_that_somebody_gave_up_on_is_quoted_with_where_it_stood(explain, tmp_path):
    (tmp_path / "job.log").write_text(f"Starting training\n^C{INTERRUPTED}")
    diagnosis = explain(tmp_path)
    assert "info" == diagnosis.document()["severity"]
    assert [("job.log", 5)] == [one[:2] for one in quoted(diagnosis)]


def test_a_job_that_somebody_stopped_after_its_steps_is_healthy(explain, tmp_path):
    (tmp_path / "job.log").write_text(f"{STEPS}^C{INTERRUPTED}")
    assert explain(tmp_path).incident is None


def ranks(*said, of="rank {}: past the barrier"):
    return "".join(f"{of.format(rank)}\n" for rank in said)


@pytest.mark.parametrize("begin", [
    ranks(0, 1, 2, of="[rank {}] starts"),
    "I1028 12:13:38.4 6 ProcessGroupNCCL.cpp:843] [Rank 0] NCCL watchdog thread started!\n"
    + ranks(2, 1, of="I1028 12:13:38.4 6 x.cpp:843] [Rank {}] thread started!"),
])  # fmt: skip
def test_what_not_all_ranks_say_at_the_end_of_a_start_is_quoted_as_news(explain, tmp_path, begin):
    (tmp_path / "job.log").write_text(begin + ranks(2, 0))
    diagnosis = explain(tmp_path)
    assert ("unknown", "job", "job") == said(diagnosis)
    assert "info" == diagnosis.document()["severity"]
    assert [("job.log", 5, "rank 0: past the barrier (rank 1 does not say so)")] == quoted(
        diagnosis
    )


@pytest.mark.parametrize("end", [
    ranks(1, 0, 2),  # all of them
    ranks(0, of="rank {}: saved 12 files"),  # what the first one does for all
    ranks(1) + "bye\n",  # not at the end
    ranks(1, of="sent 12 bytes to rank {}"),  # of another one
    ranks(1, 7),  # some are not in the log at all
    ranks(1) + STEPS,
])  # fmt: skip
def test_what_all_ranks_say_or_only_the_first_is_no_news(explain, tmp_path, end):
    (tmp_path / "job.log").write_text(ranks(0, 1, 2, of="[rank {}] starts") + end)
    (tmp_path / "other.log").write_text(STEPS if "loss" in end else "OK\n")
    try:
        document = explain(tmp_path).document()
    except RecordingError:
        document = None  # nothing in it says anything
    assert document is None


@pytest.mark.parametrize("line", [
    "I start it on two hosts and it gets stuck after the third step, any ideas?",
    "The script simply freezes at some point.",
    "After an hour it stops without any error.",
])  # fmt: skip
def test_what_somebody_wrote_above_a_log_that_says_no_more_is_quoted_as_news(
    explain, tmp_path, line
):
    (tmp_path / "issue.txt").write_text(f"{line}\n\n{STEPS}")
    diagnosis = explain(tmp_path)
    assert ("unknown", "job", "job") == said(diagnosis)
    assert "info" == diagnosis.document()["severity"]
    assert [("issue.txt", 1, line)] == quoted(diagnosis)


@pytest.mark.parametrize("line", [
    "using GPU 0 for the barrier: this could hang if the mapping is another one",
    "if the program hangs, set the variable below",
    "early stopping: the score got stuck_at 0.31",
    "How long does the training take on four devices, and does it stop?",
    "WARNING the run hangs when it is forked",
    "Training will stop after 20 epochs.",
    "The search stops after 5 rounds that do not improve.",
])  # fmt: skip
def test_what_a_program_says_of_what_could_happen_is_not(explain, tmp_path, line):
    (tmp_path / "job.log").write_text(f"{line}\n\n{STEPS}")
    assert explain(tmp_path).document() is None


FINALISER = """Exception ignored in: <bound method Loader.__del__ of <data.Loader object at 0x7f11>>
Traceback (most recent call last):
  File "/opt/data.py", line 33, in __del__
  File "/opt/data.py", line 19, in _close
ImportError: sys.meta_path is None, Python is likely shutting down
"""


def test_what_a_finaliser_raises_as_python_ends_is_no_last_word(explain, tmp_path):
    (tmp_path / "job.log").write_text(STEPS + FINALISER)
    assert explain(tmp_path).document() is None


def test_an_error_above_what_a_finaliser_raises_is_one(explain, tmp_path):
    (tmp_path / "job.log").write_text(STEPS + "error: no more room for shard 7\n" + FINALISER)
    assert [("job.log", "error: no more room for shard 7")] == [
        (file, text) for file, _, text in quoted(explain(tmp_path))
    ]
