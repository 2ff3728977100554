"""Lines of a cluster's controller, which speak of many jobs."""

from tests.collector.artefacts.launches.launched_job import CRASH, cause, steps

KILLED = "[2026-05-13T12:00:{1}.001] _job_complete: JobId={0} WTERMSIG 9\n"
DONE = "[2026-05-13T12:00:{1}.001] _job_complete: JobId={0} WEXITSTATUS 0\n"


def test_a_job_whose_own_log_is_empty_ended_as_the_controller_says(first):
    document = first(**{"slurm-77.out": "", "slurmctld.log": KILLED.format(77, 20)})
    assert CRASH == cause(document)[0]


def test_what_became_of_other_jobs_is_nothing_of_this_one(first):
    lines = KILLED.format(76, 10) + DONE.format(77, 20) + KILLED.format(78, 30)
    assert None is first(**{"slurm-77.out": steps(1), "slurmctld.log": lines})


def test_of_several_jobs_none_of_which_has_a_log_none_is_blamed(first):
    lines = KILLED.format(76, 10) + KILLED.format(78, 30)
    assert None is first(**{"job.log": steps(1), "slurmctld.log": lines})


def test_a_job_that_was_up_with_its_time_is_no_crash(first):
    lines = "[2026-05-13T12:00:19.001] Time limit exhausted for JobId=77\n"
    lines += KILLED.format(77, 20)
    document = first(**{"slurm-77.out": steps(1), "slurmctld.log": lines})
    assert document is None or CRASH != cause(document)[0]
