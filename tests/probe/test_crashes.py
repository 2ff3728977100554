"""Last words: what an uncaught exception was, and who only lost a peer."""

import sys
import threading

import pytest

from rankscope import probe
from rankscope.probe.crashes import is_cascade, without_secrets


def test_an_uncaught_exception_is_said_before_the_process_dies(job, listener):
    printed = job.run("crash.py", fails=True)
    assert "ValueError: label 10" in printed, "the traceback is printed as ever"
    assert "unreachable" not in printed
    (event,) = listener.events("log.fault")
    assert ("python.ValueError", "root") == (
        event.attributes["signature"],
        event.attributes["role"],
    )
    assert [0, 1] == listener.values("training.step")


@pytest.mark.long
def test_the_rank_that_died_is_the_root_and_the_one_that_lost_it_the_cascade(job, listener):
    text = job.run("crash.py", ranks=2, fails=True)
    assert "label 10 is not in" in text, "the traceback is printed as ever"
    (root,) = listener.events("log.fault", role="root")
    assert (1, "python.ValueError") == (root.attributes["rank"], root.attributes["signature"])
    assert "ValueError: label 10 is not in [0, 10)" == root.attributes["text"]
    others = listener.events("log.fault", role="cascade")
    assert {0} >= {event.attributes["rank"] for event in others}
    ended = listener.events("training.phase", phase="shutdown", rank=1)
    assert not ended, "a crash is no clean end"


def test_the_hooks_that_were_there_are_called_and_come_back(listener, monkeypatch):
    called = []
    monkeypatch.setattr(sys, "excepthook", lambda *args: called.append(args))
    monkeypatch.setattr(threading, "excepthook", called.append)
    mine, threads = sys.excepthook, threading.excepthook
    watch = probe.attach(rank=2, environ=listener.environ)
    error = RuntimeError("CUDA error: an illegal memory access was encountered")
    sys.excepthook(RuntimeError, error, None)
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    watch.detach()
    listener.wait()
    assert (RuntimeError, error, None) == called[0]
    assert 3 == len(called)
    assert (mine, threads) == (sys.excepthook, threading.excepthook)
    assert ["python.RuntimeError", "python.ZeroDivisionError"] == [
        event.attributes["signature"] for event in listener.events("log.fault", role="root", rank=2)
    ]


def test_an_exception_whose_text_raises_is_still_printed(listener, monkeypatch):
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError

    called = []
    monkeypatch.setattr(sys, "excepthook", lambda *args: called.append(args))
    watch = probe.attach(environ=listener.environ)
    sys.excepthook(MuteError, MuteError(), None)
    watch.detach()
    assert 1 == len(called)


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.2]:5854",
        "DistBackendError: ncclRemoteError: A call failed possibly due to a network error",
        "RuntimeError: Broken pipe",
    ],
)
def test_losing_a_peer_is_a_cascade(text):
    assert is_cascade(text)
    assert not is_cascade("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("GET https://me:hunter2@host/x failed", "GET https://me:***@host/x failed"),
        ("token=abc123 was refused", "token=*** was refused"),
        ("{'Authorization': 'Bearer abc.def'}", "{'Authorization': 'Bearer ***'}"),
        ("label 10 is not in [0, 10)", "label 10 is not in [0, 10)"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, masked):
    assert masked == without_secrets(text)
