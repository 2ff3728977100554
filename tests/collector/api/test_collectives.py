"""/jobs/{job}/collectives, from telemetry of several sources that was sent over HTTP."""

import pytest
from tests.waiting import until

from rankscope.formats.otlp import encode
from rankscope.vocabulary import operations
from rankscope.vocabulary.groups import ProcessGroup, communicator_group, communicator_info, world
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes

TORCH, NCCL = world(4), communicator_group("0x7f8c", whole=True)
PAIR = ProcessGroup("TENSOR_MODEL_PARALLEL_GROUP", (0, 1))


@pytest.fixture
def client_with_job(client, clock):
    """Return a client of a collector to which torch, RAS and Inspector reported four ranks."""
    at = clock.at - 5

    def sample(metric, value, rank, group, source, **more):
        labels = {"rank": rank, "group": group, "source": source, **more}
        return Sample(f"collective.{metric}", value, at, attributes(labels))

    groups = []
    for host in (0, 1):
        samples = [TORCH.info(at), PAIR.info(at), communicator_info(NCCL, "7f8c", range(4), at)]
        for rank in (2 * host, 2 * host + 1):
            if rank != 3:
                samples += [
                    sample("enqueued", 8, rank, TORCH.name, "flight_recorder"),
                    sample("completed", 7, rank, TORCH.name, "flight_recorder"),
                ]
            samples += [
                sample("enqueued", 100, rank, NCCL, "ras"),
                sample("duration", 0.01 if rank == 2 else 0.05, rank, NCCL, "inspector",
                       op="AllReduce"),
                sample("bus_bandwidth", 2e9, rank, NCCL, "inspector", op="AllReduce"),
                sample("duration", 0.01, rank, NCCL, "inspector", op="Broadcast"),
            ]  # fmt: skip
            if host == 0:
                samples.append(sample("enqueued", 5, rank, PAIR.name, "flight_recorder"))
        groups.append((TelemetryResource(host=f"gpu-{host}", job="run-1"), samples))
    answer = client.post(
        "/v1/metrics",
        content=encode.metrics_request(groups),
        headers={"content-type": "application/x-protobuf"},
    )
    assert answer.status_code == 200, answer.text
    until(lambda: client.get("/api/v1/jobs").json()["items"], "the job")
    return client


def items(client, **params):
    return client.get("/api/v1/jobs/run-1/collectives", params=params).json()["items"]


def test_a_group_of_several_sources_is_one_with_the_source_of_each_number(client_with_job):
    rows = items(client_with_job)
    assert [(PAIR.name, 0), (PAIR.name, 1)] == [
        (row["group"], row["rank"]) for row in rows if row["kind"] == "tp"
    ]
    whole = {row["rank"]: row for row in rows if row["kind"] == "world"}
    assert {0, 1, 2, 3} == set(whole)
    assert all([NCCL] == row["also"] and TORCH.name == row["group"] for row in whole.values())
    assert (8, 7, "flight_recorder") == tuple(
        whole[0][name] for name in ("enqueued", "completed", "source")
    )
    assert (100, None, "ras") == tuple(
        whole[3][name] for name in ("enqueued", "completed", "source")
    )
    assert ["gpu-0", "gpu-1"] == [whole[rank]["host"] for rank in (1, 2)]


def test_who_comes_late_has_the_shortest_duration_of_a_synchronising_collective(client_with_job):
    found = {
        row["rank"]: {one["op"]: one for one in row["operations"]}
        for row in items(client_with_job, group=NCCL)
    }
    late = {rank: ops["AllReduce"]["lateness"] for rank, ops in found.items()}
    assert {0: 0, 1: 0, 2: 0.04, 3: 0} == pytest.approx(late)
    assert {None} == {ops["Broadcast"]["lateness"] for ops in found.values()}
    assert ("inspector", 2e9) == (
        found[2]["AllReduce"]["source"], found[2]["AllReduce"]["bus_bandwidth"]
    )  # fmt: skip


def test_ranks_can_be_chosen_and_pages_turned(client_with_job):
    assert [3] == [row["rank"] for row in items(client_with_job, rank=3)]
    first = client_with_job.get("/api/v1/jobs/run-1/collectives", params={"limit": 4}).json()
    rest = items(client_with_job, cursor=first["next_cursor"])
    assert 6 == len(first["items"]) + len(rest)
    assert [] == items(client_with_job, group="dp:none")


def test_nccls_own_lines_alone_say_who_is_in_a_group_and_on_which_device(client_with_job, clock):
    groups = []
    for rank in range(4):
        pairs: dict[str, Scalar] = {
            "rank": rank, "pid": 50 + rank, "communicator": "0x77aa", "communicator.rank": rank % 2,
            "communicator.size": 2, "pci.bus_id": f"0000:0{rank}:00.0",
        }  # fmt: skip
        if rank < 2:
            pairs["communicator"] = "0x99bb"
        resource = TelemetryResource(host=f"gpu-{rank // 2}", job="run-1")
        groups.append((resource, [Event("collective.communicator", clock.at, pairs, resource)]))
    sent = client_with_job.post(
        "/v1/logs",
        content=encode.logs_request(groups),
        headers={"content-type": "application/x-protobuf"},
    )
    assert sent.status_code == 200, sent.text
    found = until(lambda: items(client_with_job, group="other:77aa"), "the communicator")
    assert [(2, 52, "0000:02:00.0", 0), (3, 53, "0000:03:00.0", 1)] == [
        (row["rank"], row["pid"], row["pci_bus_id"], row["communicator_rank"]) for row in found
    ]
    # torch has a group of ranks 0 and 1: the communicator is that group's.
    pair = items(client_with_job, group=PAIR.name)
    assert [(["other:99bb"], 50, 5), (["other:99bb"], 51, 5)] == [
        (row["also"], row["pid"], row["enqueued"]) for row in pair
    ]


def test_an_unknown_job_is_a_404(client):
    assert 404 == client.get("/api/v1/jobs/none/collectives").status_code


def test_single_collectives_show_who_came_late_and_how_far_clocks_are_apart(client_with_job, clock):
    at = clock.at
    groups = []
    for rank in range(4):
        row = operations.MemberOperation(
            "AllReduce", 40, 1024, None, at - 1, 0.1 if rank == 2 else 0.5
        )
        pairs: dict[str, Scalar] = {"rank": rank, "group": NCCL, "source": "inspector",
                 "text": operations.encode([row])}  # fmt: skip
        resource = TelemetryResource(host=f"gpu-{rank // 2}", job="run-1")
        groups.append((resource, [Event(operations.EVENT, at, pairs, resource)]))
    sent = client_with_job.post(
        "/v1/logs",
        content=encode.logs_request(groups),
        headers={"content-type": "application/x-protobuf"},
    )
    assert sent.status_code == 200, sent.text
    path = "/api/v1/jobs/run-1/operations"
    found = until(
        lambda: client_with_job.get(path).json(), "an operation", lambda one: one["items"]
    )
    (item,) = found["items"]
    assert ("AllReduce", 40, 1024) == (item["op"], item["sequence"], item["size"])
    assert [0, 0, 0.4, 0] == pytest.approx([one["lateness"] for one in item["members"]])
    assert [("gpu-0", 0.0), ("gpu-1", 0.0)] == [
        (one["host"], one["seconds"]) for one in found["clock_offsets"]
    ]
    late = {
        row["rank"]: row["operations"][0]["lateness"] for row in items(client_with_job, group=NCCL)
    }
    assert 0.4 == pytest.approx(late[2])
    assert 404 == client_with_job.get("/api/v1/jobs/none/operations").status_code
