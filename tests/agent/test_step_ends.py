"""Values of a log beside a probe: they belong to the probe's last step before the line."""

from rankscope.agent.step_ends import StepEnds
from rankscope.vocabulary.samples import Sample, attributes

JOB = ("job-1", 0, 3)
LOG = attributes({"rank": 3, "source": "log"})


def ends(*times):
    known = StepEnds()
    known.note(JOB, [Sample("training.step", float(n), at) for n, at in enumerate(times)])
    return known


def at(known, when, metric="training.loss", job="job-1"):
    return [one.at for one in known.joined(job, 0, [Sample(metric, 1.0, when, LOG)])]


def test_a_value_of_a_log_has_the_time_of_the_last_step_before_it():
    known = ends(10.0, 20.0, 30.0)
    assert at(known, 20.4) == [20.0]
    assert at(known, 20.0) == [20.0]
    assert at(known, 99.0) == [99.0]
    assert at(known, 9.0) == [9.0]


def test_steps_and_their_durations_are_the_probes():
    known = ends(10.0)
    assert at(known, 10.5, "training.step") == []
    assert at(known, 10.5, "training.step.duration") == []


def test_what_is_of_another_job_or_no_training_value_stays():
    known = ends(10.0)
    assert at(known, 10.5, job="job-2") == [10.5]
    assert at(known, 10.5, "collective.enqueued") == [10.5]
    known.forget(JOB)
    assert at(known, 10.5, "training.step") == [10.5]


def test_what_is_kept_is_bounded():
    known = StepEnds()
    for rank in range(3000):
        known.note(("job-1", 0, rank), [Sample("training.step", 1.0, float(rank))])
    assert len(known._ends) == 1024


def test_a_loss_of_a_log_leaves_with_the_time_of_the_probes_step(
    run_agent, intake, tmp_path, trainer, until
):
    path = tmp_path / "rank0.log"
    path.touch()
    files = [{"path": str(path), "job": "job-1", "attempt": 0}]
    agent = run_agent(push={"endpoint": intake.endpoint}, logs={"files": files})
    trainer(agent.socket_path, "step(1); sys.stdin.readline()")
    until(lambda: intake.points("training.step"))
    (_, _, ended, _) = intake.points("training.step")[0]

    def reported():
        with path.open("a") as file:
            file.write("{'loss': 2.5, 'epoch': 0.1}\n")
        return [one for one in intake.points("training.loss") if one[1].get("source") == "log"]

    (_, _, when, value) = until(reported)[0]
    assert (value, when) == (2.5, ended)
    assert all("source" not in pairs for _, pairs, _, _ in intake.points("training.step"))
