"""Who a process is: what the caller says, else one launcher's words, never a mixture."""

import pytest

from rankscope.vocabulary.identity import identify

LAUNCHED = {
    "torchrun": (
        {
            "TORCHELASTIC_RUN_ID": "run-7",
            "TORCHELASTIC_RESTART_COUNT": "2",
            "RANK": "9",
            "LOCAL_RANK": "1",
            "WORLD_SIZE": "16",
        },
        ("run-7", 2, 9, 1, 16),
    ),
    "torchrun without a run id, inside Slurm": (
        {
            "TORCHELASTIC_RUN_ID": "none",
            "RANK": "9",
            "LOCAL_RANK": "1",
            "WORLD_SIZE": "16",
            "SLURM_JOB_ID": "4711",
            "SLURM_PROCID": "1",
            "SLURM_LOCALID": "0",
            "SLURM_NTASKS": "2",
        },
        ("4711", 0, 9, 1, 16),
    ),
    "srun": (
        {
            "SLURM_JOB_ID": "4711",
            "SLURM_RESTART_COUNT": "1",
            "SLURM_PROCID": "3",
            "SLURM_LOCALID": "3",
            "SLURM_NTASKS": "8",
        },
        ("4711", 100, 3, 3, 8),
    ),
    "torchrun's first try": (
        {"TORCHELASTIC_RESTART_COUNT": "0", "RANKSCOPE_JOB_ID": "j", "RANK": "0"},
        ("j", 0, 0, 0, 1),
    ),
    "srun's first try, whose restart count Slurm leaves out": (
        {"SLURM_JOB_ID": "4711", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
        ("4711", 0, 0, 0, 2),
    ),
    "mpirun": (
        {
            "PMIX_NAMESPACE": "prterun-12",
            "OMPI_COMM_WORLD_RANK": "2",
            "OMPI_COMM_WORLD_LOCAL_RANK": "0",
            "OMPI_COMM_WORLD_SIZE": "4",
        },
        ("prterun-12", None, 2, 0, 4),
    ),
    "an indexed Kubernetes job": (
        {"JOB_NAME": "llm", "JOB_COMPLETION_INDEX": "5", "JOB_PARALLELISM": "6"},
        ("llm", None, 5, 0, 6),
    ),
    "nothing but a rendezvous": (
        {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "RANK": "1", "WORLD_SIZE": "2"},
        ("10.0.0.1-29500", None, 1, 0, 2),
    ),
    "the job id by name": (
        {"RANKSCOPE_JOB_ID": "mine", "RANKSCOPE_JOB_ATTEMPT": "4", "RANK": "0", "WORLD_SIZE": "2"},
        ("mine", 4, 0, 0, 2),
    ),
    "numbers that are none": (
        {"RANKSCOPE_JOB_ID": "x", "RANK": "first", "WORLD_SIZE": "-3"},
        ("x", None, 0, 0, 1),
    ),
}


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_a_launcher_says_who_a_process_is(launcher):
    environ, expected = LAUNCHED[launcher]
    who = identify(environ)
    assert expected == (who.job, who.attempt, who.rank, who.local_rank, who.world_size)


def test_an_attempt_that_nobody_numbers_stays_open():
    assert identify({"RANKSCOPE_JOB_ID": "j"}).attempt is None
    assert 0 == identify({}, attempt=0).attempt
    assert identify({"RANKSCOPE_JOB_ATTEMPT": "second"}).attempt is None


@pytest.mark.parametrize(
    ("nodes", "most_restarts", "attempt"),
    [("1", "3", 102), ("2", "0", 102), ("2", "3", None)],
    ids=["one node", "no restarts", "restarts on two nodes"],
)
def test_restarts_that_each_node_counts_for_itself_number_no_attempt(nodes, most_restarts, attempt):
    """With torch 2.13 one world had two numbers after a kill: 2 on its node, 1 elsewhere."""
    environ, _expected = LAUNCHED["torchrun"]
    found = identify(
        environ
        | {"GROUP_WORLD_SIZE": nodes, "TORCHELASTIC_MAX_RESTARTS": most_restarts}
        | {"SLURM_JOB_ID": "4711", "SLURM_RESTART_COUNT": "1"}
    )
    assert attempt == found.attempt


GROUP = {
    "RANKSCOPE_JOB_ID": "run-7",
    "REPLICA_GROUP_ID": "2",
    "NUM_REPLICA_GROUPS": "3",
    "RANK": "1",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "4",
    "TORCHELASTIC_RESTART_COUNT": "5",
}


def test_replica_groups_of_a_named_job_are_one_world_and_restart_alone():
    """One torchrun a group (torchft 0.2.0): each has a rank 0, and counts its own restarts."""
    found = identify(GROUP)
    assert ("run-7", 0, 9, 1, 12) == (
        found.job,
        found.attempt,
        found.rank,
        found.local_rank,
        found.world_size,
    )
    assert {"rank", "world_size"} <= found.given, "the group's own process group has no say"


def test_replica_groups_whose_number_nobody_tells_are_as_many_as_are_known():
    assert 12 == identify({**GROUP, "NUM_REPLICA_GROUPS": ""}).world_size


def test_a_replica_group_whose_job_nobody_named_is_a_world_of_its_own():
    found = identify({**GROUP, "RANKSCOPE_JOB_ID": "", "TORCHELASTIC_RUN_ID": "group-2"})
    assert ("group-2", 5, 1, 4) == (found.job, found.attempt, found.rank, found.world_size)


def test_a_rank_that_the_caller_gives_counts_over_replica_groups_already():
    assert 9 == identify(GROUP, rank=9, world_size=12).rank


def test_what_the_caller_says_goes_before_every_variable():
    environ, _expected = LAUNCHED["torchrun"]
    who = identify(environ, job="a", attempt=5, rank=1, local_rank=0, world_size=4)
    assert ("a", 5, 1, 0, 4) == (who.job, who.attempt, who.rank, who.local_rank, who.world_size)
    assert {"rank", "local_rank", "world_size"} == who.given


def test_a_process_that_nobody_launched_is_a_world_of_its_own_that_may_be_corrected():
    who = identify({})
    assert (0, 1, False) == (who.rank, who.world_size, who.launched)
    assert who.job


def test_a_world_is_never_smaller_than_a_rank_in_it():
    assert 8 == identify({}, rank=7).world_size


def test_a_job_names_its_user_and_slurm_where_it_does_not():
    assert identify({}).user == ""
    assert identify({"SLURM_JOB_USER": "ann"}).user == "ann"
    assert identify({"SLURM_JOB_USER": "ann", "RANKSCOPE_JOB_USER": "nlp"}).user == "nlp"
