"""Lines of logs whose sender has named no signature."""

import pytest

from rankscope.collector.windows.log_texts import signed
from rankscope.vocabulary.samples import Event

INTERFACE = "node-1:652:652 [0] NCCL WARN Bootstrap : no socket interface found"
KEY_ERROR = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
KeyError: 'w'"""


def line(text: str, **pairs: str | int) -> Event:
    return signed(Event("log.fault", 60.0, {"text": text, **pairs}))


@pytest.mark.parametrize(
    ("text", "signature", "role"),
    [
        (INTERFACE, "nccl.bootstrap_interface", "root"),
        ("node-1:6:7 [0] NCCL INFO NET/IB : No device found.", "nccl.ib_not_found", "confirmation"),
        ("INFO: task python:19 blocked for more than 120 seconds.", "task.hung", "cascade"),
        ("[rank3]: ModuleNotFoundError: No module named 'x'", "python.exception", "root"),
        (KEY_ERROR, "python.exception", "root"),
        (f"starting\n{INTERFACE}", "nccl.bootstrap_interface", "root"),
    ],
)
def test_a_text_without_a_signature_has_that_of_its_line(
    text: str, signature: str, role: str
) -> None:
    pairs = line(text).attributes
    assert (signature, role, text) == (pairs["signature"], pairs["role"], pairs["text"])


@pytest.mark.parametrize(
    "text", ["UserWarning: not writable", "KeyError: 'w'", "epoch 3 finished", ""]
)
def test_a_text_that_nobody_knows_stays_as_it_is(text: str) -> None:
    assert {"text": text, "rank": 1} == line(text, rank=1).attributes


def test_what_the_sender_says_stays() -> None:
    pairs = line(INTERFACE, role="cascade", rank=2, signature="").attributes
    assert ("nccl.bootstrap_interface", "cascade", 2) == (
        pairs["signature"], pairs["role"], pairs["rank"],
    )  # fmt: skip
    assert "mine" == line(INTERFACE, signature="mine").attributes["signature"]


def test_the_first_root_of_several_lines_counts() -> None:
    closed = "node-1:6:7 [0] NCCL WARN socketProgress: Connection closed by remote peer node-2<4>"
    assert "nccl.bootstrap_interface" == line(f"{closed}\n{INTERFACE}").attributes["signature"]


def test_other_events_are_left_alone() -> None:
    event = Event("scheduler.event", 60.0, {"text": INTERFACE})
    assert signed(event) is event


@pytest.mark.parametrize(
    ("text", "name", "pairs"),
    [
        (
            "NVRM: Xid (PCI:0000:07:00): 79, pid=4, GPU has fallen off the bus.",
            "gpu.fault",
            {"code": "79", "vendor": "nvidia", "rank": 3},
        ),
        (
            "Out of memory: Killed process 4711 (python) total-vm:41234kB",
            "host.oom_kill",
            {"pid": 4711, "rank": 3},
        ),
    ],
)
def test_what_the_kernel_logged_of_a_device_or_of_memory_is_that_event(
    text: str, name: str, pairs: dict[str, str | int]
) -> None:
    event = line(text, rank=3)
    assert name == event.name
    assert pairs.items() <= event.attributes.items()


def test_what_only_claims_to_be_a_line_of_the_kernel_accuses_no_device() -> None:
    text = "NVRM: Xid (PCI:0000:07:00): 79, pid=4, GPU has fallen off the bus."
    assert "log.fault" == line(text, rank=3, quality="claimed").name
