"""Faults as readers report them, and readings that show that one is over."""

from rankscope.vocabulary.samples import Event, Sample, attributes

T = 1_000_000.0


def event(code="79", at=T, hw_id="GPU-a", **more):
    pairs = {"hw.id": hw_id, "code": code, "vendor": "nvidia", "text": f"XID {code}", **more}
    return Event("gpu.fault", at, {"source": "kmsg", **pairs})


def reading(at, hw_id="GPU-a", gpu=3):
    return Sample("hw.temperature", 40.0, at, attributes({"hw.id": hw_id, "gpu": gpu}))


def action(name, at, hw_id="GPU-a"):
    pairs = attributes({"hw.id": hw_id, "gpu": 0, "action": name})
    return Sample("hw.gpu.recovery_action", 1.0, at, pairs)


def reset(tracker, hw_id, at):
    """Let the driver ask for a recovery, and then for none any more."""
    tracker.observe([action("reset", at, hw_id)], at)
    tracker.observe([action("none", at, hw_id)], at)
