import os
import time

from rankscope.agent import procfs
from rankscope.agent.inbox import ReceivedDatagram
from rankscope.agent.names import NodeNames
from rankscope.agent.trainers import TrainerRegister
from rankscope.formats.otlp import resources
from rankscope.vocabulary.datagram import ProbeDatagram
from rankscope.vocabulary.samples import Event, Sample, attributes


def unseen(health, **more):
    """Return a register of processes that are not on this machine."""
    return TrainerRegister(health=health, started_at=lambda pid: None, **more)


def received(*, pid=100, claimed=None, number=0, dropped=0, job="job-1", attempt=0, rank=0, **more):
    events = tuple(Event("training.phase", 1.0, {"phase": more[key]}) for key in more)
    said = ProbeDatagram(job, attempt, rank, claimed or pid or 7, number, dropped, (), events)
    return ReceivedDatagram(said, pid, "unix:" if pid else "udp:10.0.0.1")


def test_a_gap_in_the_numbers_is_that_many_lost(health):
    trainers = unseen(health)
    for number in (4, 5, 9, 10):
        trainers.receive(received(number=number), 1.0)
    assert health.counted("datagrams_lost") == 3


def test_what_was_said_before_the_agent_listened_is_not_lost(health):
    trainers = unseen(health)
    trainers.receive(received(number=5000, dropped=40), 1.0)
    assert health.counted("datagrams_lost") == 0
    assert health.counted("probe_dropped") == 0


def test_a_datagram_that_was_overtaken_does_not_start_the_count_anew(health):
    trainers = unseen(health)
    for number in (1, 3, 2, 4):
        trainers.receive(received(number=number), 1.0)
    assert health.counted("datagrams_lost") == 1


def test_a_probe_that_attached_anew_counts_from_zero(health):
    trainers = unseen(health)
    for number in (7, 8, 0, 1, 3):
        trainers.receive(received(number=number), 1.0)
    assert health.counted("datagrams_lost") == 1


def test_what_probes_gave_up_is_added_over_processes(health):
    trainers = unseen(health)
    for pid, dropped in ((1, 0), (1, 4), (2, 10), (2, 11), (1, 4)):
        trainers.receive(received(pid=pid, dropped=dropped), 1.0)
    assert health.counted("probe_dropped") == 5


def test_a_container_pid_is_kept_only_where_it_differs(health):
    trainers = unseen(health)
    assert trainers.receive(received(pid=100), 1.0)[0].container_pid is None
    assert trainers.receive(received(pid=200, claimed=7), 1.0)[0].container_pid == 7


def test_a_process_that_learns_its_rank_later_is_the_same_process(health):
    trainers = unseen(health)
    first, _ = trainers.receive(received(rank=0, phase="init"), 1.0)
    second, forgotten = trainers.receive(received(rank=3, number=1), 2.0)
    assert forgotten is first
    assert (second.rank, second.phase) == (3, "init")
    assert len(trainers) == 1


def test_same_pids_in_two_pods_are_two_senders_when_they_come_over_udp(health):
    trainers = unseen(health)
    one = ReceivedDatagram(ProbeDatagram("job-1", 0, 0, 7), None, "udp:10.0.0.1")
    other = ReceivedDatagram(ProbeDatagram("job-1", 0, 1, 7), None, "udp:10.0.0.2")
    trainers.receive(one, 1.0)
    trainers.receive(other, 1.0)
    assert [trainer.rank for trainer in trainers.everyone()] == [0, 1]


def test_only_senders_nobody_sees_exit_are_forgotten_for_silence(health):
    trainers = unseen(health)
    trainers.receive(received(pid=100), 1.0)
    trainers.receive(received(pid=None), 1.0)
    assert [trainer.pid for trainer in trainers.silent_since(2.0)] == [None]
    assert trainers.silent_since(1.0) == []


def test_the_register_is_bounded_and_forgets_the_one_silent_for_longest(health):
    trainers = unseen(health, capacity=2)
    for at, pid in enumerate((1, 2, 1)):
        trainers.receive(received(pid=pid, number=at), float(at))
    _, forgotten = trainers.receive(received(pid=3), 9.0)
    assert forgotten is not None
    assert forgotten.pid == 2
    assert {trainer.pid for trainer in trainers.everyone()} == {1, 3}


def test_who_names_many_processes_pushes_out_his_own(health):
    """Pids that come by UDP are free to be made up; the process of a user here is not forgotten."""
    trainers = unseen(health, capacity=3)
    trainers.receive(received(pid=1), 0.0)
    for at, pid in enumerate(range(10, 15)):
        trainers.receive(received(pid=None, claimed=pid), 1.0 + at)
    assert {1} == {trainer.pid for trainer in trainers.everyone()} - {None}
    assert len(trainers) == 3


def test_a_sample_belongs_to_the_trainer_or_to_the_trainer_of_the_worker_it_is_about(health):
    trainers = unseen(health)
    trainer, _ = trainers.receive(received(pid=100), 1.0)
    trainers.adopt([(101, 100)])
    assert trainers.owner(Sample("m", 1.0, 1.0, attributes({"pid": 100}))) is trainer
    assert trainers.owner(Sample("m", 1.0, 1.0, attributes({"pid": 101}))) is trainer
    assert trainers.owner(Sample("m", 1.0, 1.0, attributes({"pid": 102}))) is None
    assert trainers.owner(Sample("m", 1.0, 1.0)) is None


def test_a_forgotten_trainer_takes_its_workers_along(health):
    trainers = unseen(health)
    trainer, _ = trainers.receive(received(pid=100), 1.0)
    trainers.adopt([(101, 100)])
    trainers.forget(trainer, 2.0)
    assert trainers.owner(Sample("m", 1.0, 1.0, attributes({"pid": 101}))) is None


def test_who_a_process_was_is_known_for_a_minute_after_its_end(health):
    trainers = unseen(health)
    trainer, _ = trainers.receive(received(pid=100), 1.0)
    assert trainers.at(100, 1.0) is trainer
    trainers.forget(trainer, 50.0)
    assert trainers.at(100, 49.5) is trainer  # reported late, of a moment before the end
    assert trainers.at(100, 109.0) is trainer
    assert trainers.at(100, 110.0) is None
    assert trainers.at(101, 60.0) is None
    assert trainers.at(None, 60.0) is None


def test_what_happened_before_a_process_started_was_about_an_earlier_tenant_of_its_pid(health):
    trainers = TrainerRegister(health=health, started_at=lambda pid: 1000.0)
    trainer, _ = trainers.receive(received(pid=100), 1010.0)
    trainers.adopt([(101, 100)])
    assert trainers.at(100, 400.0) is None  # an XID of ten minutes ago
    assert trainers.at(101, 400.0) is None
    assert trainers.at(100, 1000.0) is trainer
    assert trainers.at(101, 1000.0) is trainer
    trainers.forget(trainer, 1020.0)
    assert trainers.at(100, 400.0) is None
    assert trainers.at(100, 1020.0) is trainer


def test_a_living_process_started_when_the_kernel_says(health):
    trainer, _ = TrainerRegister(health=health).receive(received(pid=os.getpid()), 1.0)
    assert trainer.started_at is not None
    assert (procfs.boot_time() or 0.0) <= trainer.started_at <= time.time() + 2


def test_a_resource_is_one_for_each_host_job_and_attempt(health):
    trainers = unseen(health)
    names = NodeNames(host="node-1", cluster="blue", extra=attributes({"network.switch": "leaf-3"}))
    ranks = [trainers.receive(received(pid=pid, rank=pid, attempt=2), 1.0)[0] for pid in (1, 2)]
    resources = {names.of(trainer) for trainer in ranks}
    (resource,) = resources
    assert (resource.host, resource.job, resource.attempt) == ("node-1", "job-1", 2)
    assert (resource.cluster, resource.extra) == ("blue", (("network.switch", "leaf-3"),))
    assert names.node().job is None


def test_the_user_of_a_job_is_a_resource_attribute_the_same_for_all_its_processes(health):
    users = iter(["ann", "bob"])
    trainers = unseen(health, user_of=lambda _: next(users))
    names = NodeNames(host="node-1", extra=attributes({"network.switch": "leaf-3"}))
    ranks = [trainers.receive(received(pid=pid, rank=pid), 1.0)[0] for pid in (1, 2)]
    (resource,) = {names.of(trainer) for trainer in ranks}
    assert resource.extra == (("network.switch", "leaf-3"), ("rankscope.job.user", "ann"))
    other, _ = trainers.receive(received(pid=3, job="job-2"), 1.0)
    assert dict(names.of(other).extra)["rankscope.job.user"] == "bob"
    assert "rankscope.job.user" not in dict(names.node().extra)


def test_an_attempt_that_nobody_numbered_is_absent_on_the_wire(health):
    trainers, names = unseen(health), NodeNames(host="node-1")
    unnamed, _ = trainers.receive(received(pid=1, attempt=None), 1.0)
    first, _ = trainers.receive(received(pid=2, attempt=0), 1.0)
    sent = [dict(resources.pairs(names.of(one))) for one in (unnamed, first)]
    assert ["absent", 0] == [one.get("rankscope.job.attempt", "absent") for one in sent]
    assert "rankscope.job.attempt" not in dict(resources.pairs(names.node()))


def test_processes_that_ended_are_remembered_for_a_minute_and_no_longer(health):
    trainers = unseen(health)
    for number in range(50):
        trainer, _ = trainers.receive(received(pid=100 + number, rank=number), float(number))
        trainers.forget(trainer, 10.0 * number)
    assert trainers.at(149, 490.0) is not None
    assert trainers.at(100, 490.0) is None
    assert len(trainers._gone) < 10
