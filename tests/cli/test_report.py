"""The report says everything that the incident document says, in a person's words."""

import pytest

from rankscope.cli.report import WIDTH, incident_report, similar_report


@pytest.mark.parametrize(
    "said",
    [
        "INCIDENT 0123456789ab  warning, open  (job train-7b, attempt 2)",
        "CPU contention on gpu-12",
        "since 2026-03-02T08:00:45.000Z, detected 2026-03-02T08:00:55.000Z",
        "1. host.cpu_contention",
        "host gpu-12 (ranks 36, 37)",
        "high confidence, score +8.4",
        "gpu GPU-1 on gpu-12",
        "probability 5%",
        "unknown, score +1.6: little was seen",
        "+  +3.00  its ranks wait for a CPU [process.cpu.wait: 0.8953, expected 0.1064]",
        "-  -0.80  no quota [container.cpu.throttled]",
        "not observed: the hypervisor's counter [system.cpu.steal]",
        "$ ssh gpu-12 'top -b -n 1'",
        "runbook: docs/runbooks/host.cpu_contention.md",
        "separates host.cpu_contention from gpu.slow",
        "$ cat /proc/pressure/cpu",
        "4 ranks on 1 host, 1.90 x slower, 242 GPU-seconds lost so far",
        "08:00:45  job.slow: steps take 0.22 s instead of 0.12 s",
        "08:00:55  steps are slow",
        "not reported: hw.gpu.throttle",
        "coverage: 86% of the signals that the causes predict",
        "host clocks differ by up to 4 ms",
    ],
)
def test_the_report_says(said, document):
    assert said in incident_report(document)


def test_lines_fit_the_page(document):
    document["summary"] = "word " * 80
    document["root_cause"]["hypotheses"][0]["evidence"][0]["text"] = "word " * 80
    assert max(len(line) for line in incident_report(document).splitlines()) <= WIDTH


def test_a_command_is_never_broken(document):
    command = "ssh gpu-12 " + "grep -H something /a/long/path " * 6
    document["root_cause"]["hypotheses"][0]["actions"][0]["command"] = command
    assert f"    $ {command}".rstrip() in incident_report(document)


def test_no_cause_and_a_stopped_job_have_words_too(document):
    document["root_cause"]["hypotheses"] = []
    document["root_cause"]["next_checks"] = []
    document["impact"]["slowdown"] = None
    document["resolved_at"] = "2026-03-02T09:00:00.000Z"
    report = incident_report(document)
    assert "unknown, score +1.6" in report
    assert "training is stopped" in report
    assert "resolved 2026-03-02T09:00:00.000Z" in report
    assert "Evidence" not in report
    assert "Actions" not in report


def test_a_cause_that_nothing_contradicts_says_so(document):
    assert "No evidence contradicts it." not in incident_report(document)
    del document["root_cause"]["hypotheses"][0]["evidence"][1:]
    assert "No evidence contradicts it." in incident_report(document)


def test_the_step_time_without_the_cause_comes_with_its_interval_and_basis(document):
    document["impact"]["counterfactual"] = {
        "step_seconds": 0.221,
        "without": {"step_seconds": 0.12, "low": 0.118, "high": 0.1225},
        "gpu_hours_lost": 0.067,
        "gpu_hours_an_hour": 1.828,
        "basis": "phases",
    }
    report = " ".join(incident_report(document).split())
    assert (
        "steps take 0.221 s; without this cause 0.12 s (90 % interval 0.118 - 0.1225 s), "
        "by what each rank does in a step" in report
    )
    assert "0.067 GPU-hours lost by that, 1.828 more an hour" in report
    lost = {"gpu_hours": 0.067, "low": 0.06, "high": 0.074}
    document["impact"]["counterfactual"]["lost"] = lost
    report = " ".join(incident_report(document).split())
    assert "0.067 GPU-hours lost by that (90 % interval 0.06 - 0.074), 1.828 more" in report
    document["impact"]["counterfactual"] = None
    assert "without this cause" not in incident_report(document)


def test_ranks_come_as_numbers_and_as_ranges(document):
    """Beyond a few ranks documents list ranges."""
    entity = document["root_cause"]["hypotheses"][0]["entity"]
    entity["ranks"] = ["0-1016:8", 1017, "1020-1023"]
    assert "host gpu-12 (ranks 0-1016:8, 1017, 1020-1023)" in incident_report(document)
    entity["ranks"] = list(range(0, 40, 3))
    assert "(ranks 0, 3, 6, 9, 12, 15, 18, 21, ...)" in incident_report(document)


def test_a_symptom_names_the_ranks_that_stand_out(document):
    """Where no cause is named they are the only hint of where to look."""
    document["symptoms"][0]["ranks"] = [2, "8-15"]
    assert "(ranks that stand out: 2, 8-15)" in incident_report(document)


def test_a_text_with_line_ends_stays_on_its_line(document):
    """A log line must not be able to add an action to the report."""
    document["summary"] = "bad\nActions\n  now: rm -rf /"
    document["symptoms"][0]["text"] = "bad\n$ rm -rf /"
    lines = incident_report(document).splitlines()
    assert not [line for line in lines if line.strip().startswith(("$ rm", "now: rm"))]


def test_past_incidents_are_shown_with_what_people_said_of_them():
    said = {"by": "ann", "verdict": "correct", "note": "fan\x1b[2J replaced"}
    row = {
        "id": "a" * 20,
        "opened_at": "2026-11-03T09:12:00.000Z",
        "fault": "gpu.slow",
        "reasons": ["same cause", "same gpu"],
        "feedback": [said],
        "resolved": None,
    }
    text = similar_report([row, {**row, "feedback": []}])
    assert "aaaaaaaaaaaa  2026-11-03  gpu.slow (same cause, same gpu); ann: the cause was" in text
    assert "nobody said whether the cause was right" in " ".join(text.split())
    assert "\x1b" not in text
