import pytest

from rankscope.agent.support_log import SupportLog

REASON = "libnvidia-ml.so.1 is not found"


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def log(clock, caplog):
    caplog.set_level("INFO")
    return SupportLog(monotonic=lambda: clock[0])


def test_one_reason_of_many_readers_is_one_line_with_their_number_and_names(log, clock, caplog):
    for number in range(16):
        log.note(f"gpu_{number}", supported=False, reason=REASON)
    log.note("kubelet", supported=False, reason="no kubelet here")
    log.flush()
    assert caplog.messages == [], "the others may be on their way"
    clock[0] += 3.0
    log.flush()
    log.flush()
    nvidia, kubelet = caplog.messages
    assert nvidia.startswith(f"16 readers not supported: {REASON} (gpu_0, gpu_1,")
    assert kubelet == "reader kubelet not supported: no kubelet here"


def test_an_answer_that_did_not_change_is_not_logged_again(log, caplog):
    for _ in range(3):
        log.note("gpu_power", supported=False, reason=REASON)
        log.flush(at_once=True)
    log.note("gpu_power", supported=True, reason="driver 570.1, 8 devices")
    log.note("cpu", supported=True, reason="")
    log.flush(at_once=True)
    assert caplog.messages == [
        f"reader gpu_power not supported: {REASON}",
        "reader gpu_power: driver 570.1, 8 devices",
    ]
