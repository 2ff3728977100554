"""Hosts whose ranks could not reach the others while the job was starting."""

import numpy as np

from rankscope.detectors.hardware.bootstraps import BootstrapsDetector
from rankscope.detectors.sketch import START, sketch


def found(*lines, steps=0):
    """Return the host that lines of a job of three hosts accuse."""
    window = sketch(np.full((6, steps), 0.8), hosts=3, now=START + 60, events=lines)
    return [f.entity.id for f in BootstrapsDetector().evaluate(window)]


def line(event, host, text="", signature="nccl.bootstrap_timeout"):
    return event("log.fault", 30, host=host, signature=signature, role="root", text=text)


def test_the_host_that_others_name_is_accused(event):
    lines = (line(event, "host-0", "no answer from host-2:4711"),
             line(event, "host-1", "no answer from host-2:4711"),
             line(event, "host-2"))  # fmt: skip
    assert ["host-2"] == found(*lines)


def test_who_alone_of_several_hosts_does_not_reach_another_is_accused_itself(event):
    """Had the other one been out of reach, the third host had logged it too."""
    text = (
        "The client socket has timed out after 60000ms while trying to connect to (host-0, 29500)."
    )
    lines = [line(event, "host-2", text, signature="tcpstore.timeout") for _ in range(2)]
    assert ["host-2"] == found(*lines)
    assert ["host-0"] == found(*lines, line(event, "host-1", text, signature="tcpstore.timeout"))


def test_who_gives_up_minutes_later_waited_for_the_host_that_did_first(event):
    """A symptom that went away as the job ended made an incident of the end."""
    first = line(event, "host-2", "connect to 10.0.0.4<40123> failed")
    given_up = [
        event("log.fault", 270, host=host, signature="python.exception", role="root", text=text)
        for host in ("host-0", "host-1")
        for text in ("RuntimeError: store wait timeout",)
    ]
    assert ["host-2"] == found(first, *given_up)
    named = [line(event, "host-0", "no answer from host-1:4711")] * 2
    assert ["host-1"] == found(first, *named)


def test_the_lines_of_other_hosts_are_waited_for(event):
    text = "no answer from host-0:4711"
    one = line(event, "host-2", text)
    window = sketch(np.full((6, 0), 0.8), hosts=3, now=START + 32, events=(one,))
    assert [] == list(BootstrapsDetector().evaluate(window))
    assert one.at + 5 == BootstrapsDetector().next_due(window)


def test_of_two_hosts_the_one_that_is_not_reached_is_accused(event):
    one = line(event, "host-1", "no answer from host-0:4711")
    window = sketch(np.full((4, 0), 0.8), hosts=2, now=START + 60, events=(one,))
    assert ["host-0"] == [f.entity.id for f in BootstrapsDetector().evaluate(window)]


def test_a_host_that_names_nobody_is_accused_itself(event):
    assert ["host-1"] == found(line(event, "host-1", "no interface found"))


def test_a_host_without_a_way_out_is_why_the_others_wait_for_it(event):
    broken = "NCCL error: unhandled system error. Bootstrap : no socket interface found"
    lines = [
        line(event, host, text, signature="python.DistBackendError")
        for host, text in (
            ("host-0", "NCCL error: unhandled system error. Connection timed out"),
            ("host-1", "NCCL error: unhandled system error. Connection timed out"),
            ("host-2", broken),
        )
    ]
    assert ["host-2"] == found(*lines)


def test_once_steps_end_the_start_succeeded(event):
    assert [] == found(line(event, "host-1"), steps=20)


def test_other_lines_accuse_nobody(event):
    assert [] == found(line(event, "host-1", signature="python.exception"))


def test_a_name_inside_another_name_is_not_meant(event):
    assert ["host-0"] == found(line(event, "host-0", "no answer from host-22"))


def test_one_member_missing_for_all_hosts_accuses_no_host(event):
    text = "Timed out after 60 seconds waiting for clients. 7/8 clients joined."
    lines = [line(event, f"host-{n}", text, signature="python.DistStoreError") for n in range(2)]
    assert [] == found(*lines)
    assert ["host-1"] == found(lines[1])


def test_one_step_may_be_the_last_of_the_attempt_before(event):
    one = line(event, "host-1")
    assert (["host-1"], []) == (found(one, steps=1), found(one, steps=2))


def test_who_only_waited_for_others_in_vain_accuses_nobody_where_a_cause_is_logged(event):
    waited = event("log.fault", 50, host="host-0", signature="store.timeout", role="cascade",
                   text="DistStoreError: timed out waiting for clients")  # fmt: skip
    assert ["host-1"] == found(line(event, "host-1"), waited)


def test_a_name_that_is_not_known_yet_accuses_nobody(event):
    """Pods start before the name service knows each of them; then they try again."""
    retried = event("log.fault", 30, host="host-1", signature="rendezvous.name_unknown",
                    role="confirmation", text="(host-0, 29500) cannot be retrieved")  # fmt: skip
    assert [] == found(retried)
