"""GPU Operational Events, as drivers from R620 have them."""

from rankscope.lab.node.nvml import NvmlScenario
from rankscope.vocabulary.events import catalogue

PRIMARY, PROPAGATED = 1 << 5, 1 << 2
TOLD = "gpu.operational_event"


def told(one):
    return [event for event in list(one.events) if event.name == TOLD]


def test_the_driver_says_which_error_began_it_and_which_followed(watched, until):
    one = watched(gpus=2)
    until(one.all_said)
    until(lambda: one.scenario.operational(0, 74, attributes=PRIMARY) or told(one))
    one.scenario.operational(1, 94, severity=30, attributes=PROPAGATED | 1)
    until(lambda: any(event.attributes["gpu"] == 1 for event in told(one)))
    first, *_, last = sorted(told(one), key=lambda event: event.attributes["gpu"])
    assert (first.attributes["hw.id"], first.attributes["code"]) == (one.uuid(0), "74")
    assert (first.attributes["role"], first.attributes["severity"]) == ("primary", "fatal")
    assert (last.attributes["role"], last.attributes["severity"]) == ("propagated", "recoverable")
    assert last.attributes["text"] == "GPU 1: XID 94 in MMU: recoverable, propagated, not contained"
    row = catalogue()[TOLD]
    assert set(first.attributes) <= set(row.attributes)


def test_news_and_corrected_errors_are_not_asked_for(watched, until):
    one = watched(gpus=1)
    until(one.all_said)
    until(
        lambda: (
            one.scenario.operational(0, 0, severity=20)
            or one.scenario.operational(0, 0)
            or told(one)
        )
    )
    assert {event.attributes["severity"] for event in told(one)} == {"fatal"}
    assert {event.attributes["code"] for event in told(one)} == {""}


def test_an_older_driver_is_asked_once_and_all_else_goes_on(watched, until, tmp_path):
    scenario = NvmlScenario(tmp_path / "driver", profile="H100", gpus=1)
    scenario.set("global", "operational", 0)
    one = watched.over(scenario)
    until(one.all_said)
    one.scenario.operational(0, 74)
    until(lambda: one.scenario.xid(0, 79) or "79" in one.codes(0))
    assert told(one) == []
