"""Real jobs, alone and of several ranks: nothing changes for them, and what is said is true."""

import re
import statistics

import pytest
import torch

from rankscope import probe


def weights(printed: str) -> str:
    """Return the digest of weights, optimizer state and random state that a plain job prints."""
    (found,) = re.findall("weights [0-9a-f]{64} .*", printed)
    return str(found)


def test_the_weights_of_a_plain_loop_are_the_same_to_the_bit_with_and_without_the_probe(
    without_probe, with_probe
):
    assert not without_probe.listener.received
    assert weights(without_probe.printed) == weights(with_probe.printed)
    assert [*range(20)] == with_probe.listener.values("training.step")


def test_the_one_line_tells_loss_norm_times_and_phases_of_a_plain_loop(with_probe):
    listener = with_probe.listener
    assert {("job/1", 3, 0)} == {(each.job, each.attempt, each.rank) for each in listener.received}
    assert 20 == len(listener.values("training.loss", scope="local"))
    assert all(0 < value < 10 for value in listener.values("training.loss"))
    assert listener.values("training.grad_norm", scope="local")
    assert [1e-3] * 20 == listener.values("training.learning_rate")
    for metric in ("step", "data", "compute", "optimizer"):
        assert 20 == len(listener.values(f"training.{metric}.duration")), metric
    assert not listener.values("training.comm.duration"), "alone there is nobody to wait for"
    phases = [event.attributes["phase"] for event in listener.events("training.phase")]
    assert ["init", "train", "shutdown"] == phases
    assert listener.samples("training.rank.info", framework="torch", world_size=1)


def test_every_value_of_a_step_carries_the_same_time(with_probe):
    received = with_probe.listener.received
    steps = [each for each in received if any(s.metric == "training.step" for s in each.samples)]
    assert 20 == len(steps)
    assert all(1 == len({sample.at for sample in each.samples}) for each in steps)


@pytest.mark.long
def test_the_weights_of_two_replicas_are_the_same_to_the_bit_with_and_without_the_probe(
    job, listener
):
    without = job.run("replicas.py", ranks=2)
    assert not listener.received
    with_it = job.run("replicas.py", "--probe", ranks=2)
    assert 2 == len(re.findall("rank . weights [0-9a-f]{64}", without))
    assert sorted(re.findall("rank . weights [0-9a-f]{64}", without)) == sorted(
        re.findall("rank . weights [0-9a-f]{64}", with_it)
    )
    assert {0, 1} == {each.rank for each in listener.received}


def test_a_slow_replica_waits_less_than_its_peer_and_its_own_time_shows_where_it_went(
    job, listener
):
    """One rank sleeps 50 ms between its batch and its forward pass: other work, no compute."""
    job.run("replicas.py", "--probe", ranks=2, SLEEPER="1", STEPS="15", lingers=True)
    steps = {rank: parts_of_steps(listener, rank) for rank in (0, 1)}

    def usual(part: str, rank: int) -> float:
        return statistics.median(step[part] for step in steps[rank])

    assert usual("other", 1) >= 0.05
    assert usual("comm", 0) > usual("comm", 1)
    assert usual("compute", 1) < usual("other", 1)
    for rank in (0, 1):
        said = dict(listener.samples("training.comm.duration", rank=rank)[0].attributes)
        assert "estimated" == said["quality"]
    _groups_are_named_alike_and_counted(listener)


def test_a_slow_shard_is_told_from_the_one_that_waits_for_it_in_its_forward_pass(job, listener):
    """One rank sleeps 0.2 s inside of forward; the other waits for its parameters meanwhile."""
    job.run("sharded.py", "--probe", ranks=2, SLEEPER="1", STEPS="15")
    slow, other = (
        {
            part: statistics.median(step[part] for step in parts_of_steps(listener, rank))
            for part in ("compute", "comm")
        }
        for rank in (1, 0)
    )
    # What is measured of a sleep can be a little less than it, and a busy machine is in both.
    assert slow["compute"] - other["compute"] > 0.1
    assert other["comm"] - slow["comm"] > 0.1


@pytest.mark.parametrize("drift", [(), ("--drift",)], ids=["sound", "one drifts"])
def test_copies_of_a_shard_have_a_norm_and_digests_that_tell_whether_they_agree(
    job, listener, drift
):
    job.run("placed.py", *drift, ranks=2, lingers=True)
    norms = [listener.values("training.grad_norm", rank=rank, scope="global") for rank in (0, 1)]
    assert 6 == len(norms[0])
    assert norms[0] == norms[1]
    said = [one.attributes for one in listener.events("training.batch", step=3)]
    assert 1 == len({one["replicas"] for one in said})
    assert "placed:2:" == said[0]["replicas"][:9]
    assert 1 + len(drift) == len({one["weights"] for one in said})


def test_the_gradient_norm_of_shards_is_sent_as_clipping_returns_it_the_same_on_all_ranks(
    job, listener
):
    """What `fully_shard` returns is a distributed tensor that has been reduced already."""
    printed = job.run("sharded.py", "--probe", ranks=2, CLIPS="1", lingers=True)
    norms = [float(norm) for norm in re.findall(r"norm (\S+)", printed)]
    assert 12 == len(norms)
    for rank in (0, 1):
        assert norms == listener.values("training.grad_norm", rank=rank)


def _groups_are_named_alike_and_counted(listener) -> None:
    info = listener.samples("collective.group.info")
    assert [("world", "0-1", 2)] == [
        (
            dict(each.attributes)["kind"],
            dict(each.attributes)["ranks"],
            dict(each.attributes)["size"],
        )
        for each in info
    ]
    name = dict(info[0].attributes)["group"]
    for rank in (0, 1):
        done = listener.values("collective.completed", rank=rank, group=name)
        assert done
        assert done[-1] >= 15
        assert done[-1] <= listener.values("collective.enqueued", rank=rank, group=name)[-1]


@pytest.mark.long
def test_the_rank_whose_data_went_bad_is_the_first_to_say_so(job, listener):
    job.run("replicas.py", "--probe", ranks=2, BROKEN="1")
    local = listener.events("training.numeric", what="loss")
    first = min(local, key=lambda event: event.attributes["step"])
    assert (1, 5, "nan") == (
        first.attributes["rank"],
        first.attributes["step"],
        first.attributes["value"],
    )
    healthy = [event.attributes["step"] for event in local if event.attributes["rank"] == 0]
    assert min(healthy) > 5
    assert listener.values("training.nonfinite", of="grad_reduced", rank=0), "after the reduction"
    counted = listener.samples("training.nonfinite", of="loss", rank=1)
    assert counted
    assert all(sample.value == 1 for sample in counted)


def trained(**environ: str) -> list[float]:
    """Return the weights of a small model after some steps, with the probe attached."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(model=model, optimizer=optimizer, environ=environ)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
    watch.detach()
    return [value for each in model.parameters() for value in each.flatten().tolist()]


def test_with_the_probe_switched_off_a_job_says_nothing_and_without_an_agent_it_runs_as_ever(
    listener,
):
    usual = trained(RANKSCOPE_PROBE="0", **listener.environ)
    listener.wait()
    assert not listener.received
    assert usual == trained(RANKSCOPE_AGENT="unix:///nowhere/probe.sock")
    assert usual == trained(**listener.environ)
    listener.wait()
    assert [*range(5)] == listener.values("training.step")


def test_every_group_is_named_alike_by_its_members_and_counted_by_each(job, listener):
    job.run("groups.py", ranks=2, lingers=True)
    infos = [dict(each.attributes) for each in listener.samples("collective.group.info")]
    found = {(info["kind"], info["desc"], info["ranks"]): info["group"] for info in infos}
    assert {
        ("world", "default_pg", "0-1"),
        ("tp", "TENSOR_MODEL_PARALLEL_GROUP", "0-1"),
        ("tp", "TENSOR_MODEL_PARALLEL_GROUP#2", "0-1"),
        ("pp", "PIPELINE_MODEL_PARALLEL_GROUP", "1"),
    } == set(found)
    assert 4 == len(set(found.values()))

    def counted(kind: str, desc: str, ranks: str, rank: int) -> int:
        """Return what was enqueued; of what was completed gloo reports the last.

        Its threads report in any order, so that an earlier number may stand last.
        """
        group = found[kind, desc, ranks]
        enqueued = int(listener.values("collective.enqueued", group=group, rank=rank)[-1])
        completed = int(listener.values("collective.completed", group=group, rank=rank)[-1])
        assert 1 <= completed <= enqueued
        return enqueued

    for rank in (0, 1):
        assert 3 == counted("tp", "TENSOR_MODEL_PARALLEL_GROUP", "0-1", rank)
        assert 2 == counted("tp", "TENSOR_MODEL_PARALLEL_GROUP#2", "0-1", rank)
        assert counted("world", "default_pg", "0-1", rank) >= 1
    assert 1 == counted("pp", "PIPELINE_MODEL_PARALLEL_GROUP", "1", 1)
    assert not listener.values("collective.started"), "gloo reports no start"


PARTS = ("data", "compute", "comm", "optimizer", "checkpoint", "gc")


def parts_of_steps(listener, rank: int) -> list[dict[str, float]]:
    """Return the durations of each step of a rank, by name, and `other`: what is left of it."""
    steps = []
    for each in listener.received:
        values = {sample.metric: sample.value for sample in each.samples}
        if each.rank == rank and "training.step" in values:
            parts = {name: values.get(f"training.{name}.duration", 0.0) for name in PARTS}
            left = values["training.step.duration"] - sum(parts.values())
            steps.append(parts | {"other": left, "index": values["training.step"]})
    return steps


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "part"), [("SLOW_LOADER", "data"), ("EXTRA_WORK", "other")], ids=str.lower
)
def test_the_parts_of_a_step_add_up_and_name_the_rank_that_its_peers_wait_for(
    job, listener, fault, part
):
    """Four processes with attach() alone: sleeps of 0.1 s are found where they were made."""
    slow = 0 if fault == "EXTRA_WORK" else 2
    job.run("shares.py", ranks=4, **{fault: str(slow)})
    usual = {}
    for rank in range(4):
        steps = parts_of_steps(listener, rank)
        assert [*range(12)] == [step["index"] for step in steps]
        assert all(step["other"] >= -1e-6 for step in steps), "no second is counted twice"
        for name in (*PARTS, "other"):
            usual[name, rank] = statistics.median(step[name] for step in steps[1:])
    assert usual[part, slow] >= 0.1
    for rank in {0, 1, 2, 3} - {slow}:
        assert usual["comm", rank] > usual["comm", slow], "its peers wait, it does not"
        assert usual[part, slow] > usual[part, rank]
    assert usual["compute", slow] < usual[part, slow], "what it slept is no compute"


@pytest.mark.long
def test_during_an_evaluation_that_nobody_announces_the_rank_shows_that_it_is_alive(job, listener):
    """No optimizer update for 12 s: age and counters go on, and the phase is inferred."""
    job.run("evaluation.py", ranks=2)
    for rank in (0, 1):
        assert [*range(6)] == listener.values("training.step", rank=rank)
        ended = [sample.at for sample in listener.samples("training.step", rank=rank)]
        ages = [
            sample.value
            for sample in listener.samples("training.progress.age", rank=rank)
            if ended[2] < sample.at < ended[3]
        ]
        assert 2 <= len(ages)
        assert ages == sorted(ages)
        for metric in ("collective.enqueued", "collective.completed"):
            counts = [
                sample.value
                for sample in listener.samples(metric, rank=rank)
                if ended[2] < sample.at < ended[3]
            ]
            assert counts[-1] > counts[0], "its collectives move on"
        (began,) = listener.events("training.phase", rank=rank, phase="eval")
        assert ended[2] < began.at < ended[3]
        again = listener.events("training.phase", rank=rank, phase="train")
        assert began.at < again[-1].at < ended[3]
        step = parts_of_steps(listener, rank)[3]
        assert step["other"] >= 10, "evaluation is neither compute nor a wait for data"


@pytest.mark.long
@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("mesh", {"dp": [0, 0, 1, 1], "tp": [0, 1, 0, 1]}),
        ("megatron", {"dp": [0, 0], "tp": [0, 0], "pp": [0, 1]}),
    ],
)
def test_each_rank_reports_its_indices_in_the_parallel_layout(job, listener, by, expected):
    ranks = len(expected["dp"])
    job.run("layout.py", by, ranks=ranks, lingers=True)
    newest = {
        pairs["rank"]: pairs
        for sample in listener.samples("training.rank.info")
        for pairs in (dict(sample.attributes),)
    }
    for name, indices in expected.items():
        assert indices == [newest[rank].get(name) for rank in range(ranks)]
