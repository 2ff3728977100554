from rankscope.agent.attribution.device_ids import DeviceIdentity
from rankscope.agent.attribution.joining import (
    DeviceHolder,
    DeviceProcess,
    NodeFacts,
    ProcessOwner,
    join,
)
from rankscope.agent.attribution.pod_resources import AllocatedDevice
from rankscope.agent.trainers import TrainerProcess

A, B, PART = "GPU-a", "GPU-b", "MIG-p"
DEVICES = {
    A: DeviceIdentity(A, 0),
    B: DeviceIdentity(B, 1),
    PART: DeviceIdentity(PART, 1, parent=B, partition="1g.10gb/7"),
}


def given(pod, device, *, container="train", resource="nvidia.com/gpu"):
    return AllocatedDevice("ml", pod, container, resource, device)


def trainer(pid, rank, *, job="job-1"):
    return TrainerProcess(("", pid), job, 0, rank, pid, None, 0.0)


def joined(
    *, processes=(), claims=None, trainers=(), given=(), belongs=None, names=None, jobs=None
):
    facts = NodeFacts(DEVICES, processes, claims or {}, trainers)
    return join(facts, given=given, memberships=belongs or {}, names=names or {}, jobs=jobs or {})


def test_a_whole_device_is_its_containers():
    holders, ranks = joined(given=[given("p", A)])
    assert holders == {A: (DeviceHolder(namespace="ml", pod="p", container="train"),)}
    assert ranks == {}


def test_a_part_is_its_containers_and_so_is_its_device():
    holders, _ = joined(given=[given("p", PART, resource="nvidia.com/mig-1g.10gb")])
    held = DeviceHolder(namespace="ml", pod="p", container="train", partition="1g.10gb/7")
    assert holders == {PART: (held,), B: (held,)}


def test_time_slices_are_a_holder_each():
    holders, _ = joined(given=[given("p", f"{A}::0"), given("q", f"{A}::1")])
    assert [(one.pod, one.replica) for one in holders[A]] == [("p", "0"), ("q", "1")]


def test_the_uid_of_a_pod_comes_from_its_name():
    holders, _ = joined(given=[given("p", A)], names={"uid-p": ("ml", "p"), "uid-q": ("x", "p")})
    assert holders[A][0].pod_uid == "uid-p"


def test_a_pod_that_holds_a_device_alone_has_the_uid_of_what_runs_there():
    holders, _ = joined(
        given=[given("p", A)],
        processes=[DeviceProcess(A, 10, 1.0)],
        belongs={10: ProcessOwner(pod_uid="uid-p")},
    )
    assert holders[A][0].pod_uid == "uid-p"


def test_a_rank_is_where_its_process_has_memory():
    holders, ranks = joined(
        given=[given("p", A)],
        processes=[DeviceProcess(A, 10, 1.0)],
        trainers=[trainer(10, 3)],
    )
    assert ranks == {A: (3,)}
    assert (holders[A][0].job, holders[A][0].rank) == ("job-1", 3)


def test_a_claim_does_not_move_a_rank_whose_process_is_seen_elsewhere():
    _, ranks = joined(
        processes=[DeviceProcess(A, 10, 1.0)], trainers=[trainer(10, 3)], claims={("", 10): B}
    )
    assert ranks == {A: (3,)}


def test_contexts_of_all_ranks_on_the_first_device_leave_each_rank_on_its_own():
    """Every rank has a small context on device 0: a known mistake, and no placement."""
    _, ranks = joined(
        processes=[DeviceProcess(A, 10, 9e9), DeviceProcess(A, 11, 5e8), DeviceProcess(B, 11, 9e9)],
        trainers=[trainer(10, 0), trainer(11, 1)],
    )
    assert ranks == {A: (0,), B: (1,)}


def test_of_several_devices_a_process_has_memory_on_the_one_it_names_is_its_own():
    _, ranks = joined(
        processes=[DeviceProcess(A, 10, 9e9), DeviceProcess(B, 10, 1e9)],
        trainers=[trainer(10, 0)],
        claims={("", 10): B},
    )
    assert ranks == {B: (0,)}


def test_a_claim_is_believed_where_the_driver_shows_no_processes():
    _, ranks = joined(trainers=[trainer(10, 3)], claims={("", 10): B})
    assert ranks == {B: (3,)}


def test_a_claim_on_another_pods_device_is_not_believed():
    _, ranks = joined(
        given=[given("p", A), given("q", B)],
        names={"uid-p": ("ml", "p"), "uid-q": ("ml", "q")},
        trainers=[trainer(10, 3), trainer(11, 4)],
        claims={("", 10): B, ("", 11): B},
        belongs={10: ProcessOwner(pod_uid="uid-p"), 11: ProcessOwner(pod_uid="uid-q")},
    )
    assert ranks == {B: (4,)}


def test_of_a_shared_device_each_pod_has_its_own_rank():
    holders, ranks = joined(
        given=[given("p", f"{A}::0"), given("q", f"{A}::1")],
        names={"uid-p": ("ml", "p"), "uid-q": ("ml", "q")},
        processes=[DeviceProcess(A, 10, 1.0), DeviceProcess(A, 11, 1.0)],
        trainers=[trainer(10, 0), trainer(11, 0, job="job-2")],
        belongs={10: ProcessOwner(pod_uid="uid-p"), 11: ProcessOwner(pod_uid="uid-q")},
    )
    assert [(one.pod, one.job, one.rank) for one in holders[A]] == [
        ("p", "job-1", 0),
        ("q", "job-2", 0),
    ]
    assert ranks == {A: (0, 0)}


def test_without_a_kubelet_a_slurm_job_holds_what_its_processes_use():
    holders, _ = joined(
        processes=[DeviceProcess(A, 10, 1.0), DeviceProcess(A, 11, 1.0)],
        trainers=[trainer(11, 5)],
        belongs={10: ProcessOwner(slurm_job="4711"), 11: ProcessOwner(slurm_job="4712")},
    )
    assert holders == {
        A: (DeviceHolder(slurm_job="4711"), DeviceHolder(slurm_job="4712", job="job-1", rank=5))
    }


def test_job_files_of_a_prolog_name_the_holders_of_devices_and_parts():
    holders, _ = joined(jobs={"0": ("4711",), "1.7": ("4712", "4713"), "9": ("1",)})
    assert holders == {
        A: (DeviceHolder(slurm_job="4711"),),
        PART: (DeviceHolder(slurm_job="4712"), DeviceHolder(slurm_job="4713")),
    }


def test_without_kubelet_and_slurm_a_device_is_its_ranks():
    holders, ranks = joined(
        processes=[DeviceProcess(A, 10, 1.0), DeviceProcess(A, 11, 1.0)],
        trainers=[trainer(10, 0), trainer(11, 1)],
    )
    assert holders == {A: (DeviceHolder(job="job-1"),)}
    assert ranks == {A: (0, 1)}


def test_a_process_nobody_knows_makes_no_holder():
    assert joined(processes=[DeviceProcess(A, 10, 1.0)]) == ({}, {})
