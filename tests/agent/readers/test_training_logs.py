"""The reader of training logs in the agent: what it follows, and what leaves."""

import itertools
import json

import pytest

from rankscope import settings
from rankscope.agent import examination
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers import ReaderContext
from rankscope.agent.readers.training_logs import TrainingLogs
from rankscope.agent.settings import AgentSettings, LogsSettings


def reader(**keys):
    return TrainingLogs(
        settings=LogsSettings.model_validate({"follow": False, **keys}),
        deliver=lambda batch: None,
        health=AgentHealth(),
        period=5.0,
    )


def test_switched_off_it_says_so():
    supported, reason = reader().supported()
    assert not supported
    assert "logs.follow is off" in reason


def test_what_is_followed_is_named_for_doctor(tmp_path):
    (tmp_path / "rank3.log").touch()
    supported, reason = reader(files=[{"path": f"{tmp_path}/*.log", "job": "j"}]).supported()
    assert supported
    assert reason == f"follows {tmp_path}/rank3.log (job j, rank 3)"
    supported, reason = reader(files=[{"path": f"{tmp_path}/*.txt", "job": "j"}]).supported()
    assert supported
    assert reason == "no process with a rank writes to a file that may be read"


def test_lines_with_values_of_an_unknown_form_are_shown_to_doctor(tmp_path):
    (tmp_path / "rank0.log").write_text("ready\nstep 7 the loss was 2.5 this time\n")
    _, reason = reader(files=[{"path": f"{tmp_path}/*.log", "job": "j"}]).supported()
    assert "1 line looks like training values of an unknown form: " in reason
    assert f"{tmp_path}/rank0.log: step 7 the loss was 2.5 this time" in reason


def test_a_log_whose_values_are_read_is_not_shown_as_unknown(tmp_path):
    (tmp_path / "rank0.log").write_text("step 7 loss 2.5\nstep 8 loss 2.4\n")
    _, reason = reader(files=[{"path": f"{tmp_path}/*.log", "job": "j"}]).supported()
    assert "unknown form" not in reason


def test_doctor_shows_it(tmp_path):
    (tmp_path / "rank3.log").touch()
    files = [{"path": f"{tmp_path}/*.log", "job": "j"}]
    chosen = AgentSettings.model_validate({"logs": {"follow": False, "files": files}})
    around = ReaderContext(settings=chosen, proc=tmp_path, sys=tmp_path, dev=tmp_path)
    found = examination.examine(chosen, around=around, pause=lambda _: None)
    (row,) = [row for row in found.rows if row.reader == "training_logs"]
    assert row.state == "waits"
    assert "rank3.log (job j, rank 3)" in row.reason


def test_what_a_log_reports_leaves_the_agent_with_its_job(run_agent, intake, tmp_path, until):
    path = tmp_path / "train.log"
    path.touch()
    files = [{"path": str(path), "job": "job-1", "attempt": 2, "world_size": 2}]
    agent = run_agent(push={"endpoint": intake.endpoint}, logs={"files": files})
    steps = itertools.count(1)

    def reported():
        with path.open("a") as file:
            file.write(f"iter {next(steps)}: loss 2.5, time 100.00ms\n")
            file.write("OSError: [Errno 28] No space left on device\n")
        return intake.points("training.loss") and intake.events("log.fault")

    until(reported)
    resource, pairs, _, value = intake.points("training.loss")[0]
    assert (resource["rankscope.job.id"], resource["rankscope.job.attempt"]) == ("job-1", 2)
    assert (pairs, value) == ({"rank": 0, "source": "log"}, 2.5)
    resource, pairs = intake.events("log.fault")[0]
    assert (resource["rankscope.job.id"], pairs["signature"]) == ("job-1", "storage.no_space")
    assert agent.health.counted("log_failures") == 0


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"files": [{"path": "x.log", "job": "j"}]}, "logs.files.0.path"),
        ({"time_zone": "Mars/Olympus"}, "logs.time_zone"),
        (
            {"formats": [{"name": "m", "contains": "abc", "pattern": "abc (?P<los>x)"}]},
            "logs.formats.0",
        ),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_start_with_its_key(keys, path, tmp_path):
    file = tmp_path / "agent.yaml"
    file.write_text(json.dumps({"logs": keys}))
    with pytest.raises(settings.SettingsError) as caught:
        settings.load(AgentSettings, path=file, environ={})
    assert path in str(caught.value)
