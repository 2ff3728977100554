"""Distributions, heatmaps, phases, waits and hosts, from telemetry that was sent over HTTP."""

import base64
import math

import pytest
from tests.examples import told
from tests.waiting import until

from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, Scalar, TelemetryResource, attributes

STEPS = 40


@pytest.fixture
def client_with_job(client, clock):
    """Return a client of a collector that holds four ranks on two hosts; rank 3 is slow."""
    start = clock.at - STEPS
    groups = []
    for rank in range(4):
        pairs = attributes({"rank": rank})
        where: dict[str, Scalar | None] = {
            "rank": rank, "local_rank": rank % 2, "world_size": 4, "pid": 100 + rank,
            "hw.id": f"GPU-{rank}", "framework": "torch",
        }  # fmt: skip
        device = attributes({"hw.id": f"GPU-{rank}", "gpu": rank % 2, "hw.sensor": "gpu"})
        samples = [Sample("training.rank.info", 1, start, attributes(where))]
        for step in range(STEPS):
            at = start + step + 0.5
            own = 0.8 if rank == 3 else 0.4
            samples += [
                Sample("training.step", step, at, pairs),
                Sample("training.step.duration", 1.0, at, pairs),
                Sample("training.compute.duration", own, at, pairs),
                Sample("training.comm.duration", 0.9 - own, at, pairs),
                Sample("training.loss", math.nan if rank == 3 and step > 30 else 2.0, at, pairs),
            ]
            if step == 0 and rank != 2:
                described = device + attributes({"hw.model": "H100"})
                samples.append(Sample("hw.gpu.info", 1, at, described))
            if step % 5 == 0:
                samples.append(Sample("hw.temperature", 60 + rank, at, device))
        resource = TelemetryResource(
            host=f"gpu-{rank // 2}", job="run-1", cluster="c1", service="rankscope"
        )
        groups.append((resource, samples))
    answer = client.post(
        "/v1/metrics",
        content=encode.metrics_request(groups),
        headers={"content-type": "application/x-protobuf"},
    )
    assert answer.status_code == 200, answer.text
    until(lambda: client.get("/api/v1/jobs").json()["items"], "the job")
    return client


def test_a_distribution_has_quantiles_over_ranks_and_the_lines_asked_for(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/distribution",
        params={"metric": "training.compute.duration", "rank": 3, "points": 10},
    ).json()
    assert ("s", "windows", False) == (found["unit"], found["source"], found["rate"])
    (variant,) = found["variants"]
    assert variant["count"] == 4
    assert [0.4] * 10 == variant["lowest"] == variant["median"]
    assert [0.8] * 10 == variant["highest"]
    assert [0.5] * 10 == variant["mean"]
    assert [{"rank": 3, "host": None, "values": [0.8] * 10}] == variant["lines"]


def test_values_that_are_not_finite_are_listed_by_rank_and_time(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/distribution", params={"metric": "training.loss", "peers": 4}
    ).json()
    (variant,) = found["variants"]
    (one,) = variant["nonfinite"]
    assert one["rank"] == 3
    assert len(one["at"]) == 9
    assert [0, 1, 2, 3] == [line["rank"] for line in variant["lines"]]


def test_a_stretch_without_samples_has_no_variant(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/distribution",
        params={"metric": "training.loss", "from": 1000, "to": 2000},
    ).json()
    assert [] == found["variants"]
    assert found["held_from"] is not None


def test_what_cannot_be_asked_for_is_refused(client_with_job):
    tried = [
        ({"metric": "no.such"}, 400),
        ({"metric": "training.loss", "from": 20, "to": 10}, 400),
        ({"metric": "training.loss", "points": 1}, 400),
        ({"metric": "training.loss", "typo": 1}, 400),
    ]
    for query, status in tried:
        with told(query=query, status=status):
            assert (
                status
                == client_with_job.get("/api/v1/jobs/run-1/distribution", params=query).status_code
            )


def test_an_unknown_job_is_404(client):
    tried = ["distribution?metric=training.loss", "heatmap", "phases", "waits", "slowest"]
    for what in tried:
        with told(what=what):
            assert client.get(f"/api/v1/jobs/nothing/{what}").status_code == 404


def test_a_heatmap_has_a_byte_for_each_rank_and_step(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/heatmap", params={"metric": "training.compute.duration"}
    ).json()
    assert (4, STEPS) == (found["rows"], found["columns"])
    assert [0, 1, 2, 3] == found["ranks"]
    cells = base64.b64decode(found["cells"])
    assert bytes([0] * STEPS) == cells[:STEPS]
    assert bytes([254] * STEPS) == cells[3 * STEPS :]


def test_a_coarse_heatmap_keeps_the_highest_of_each_cell(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/heatmap",
        params={"metric": "training.compute.duration", "rows": 2, "columns": 4},
    ).json()
    assert [0, 2] == found["ranks"]
    assert [0, 10, 20, 30] == found["steps"]
    assert (2.0, 10.0) == (found["ranks_a_row"], found["steps_a_column"])
    assert bytes([0] * 4 + [254] * 4) == base64.b64decode(found["cells"])


def test_a_metric_that_nobody_reports_has_an_empty_heatmap(client_with_job):
    found = client_with_job.get(
        "/api/v1/jobs/run-1/heatmap", params={"metric": "training.gc.duration"}
    ).json()
    assert (0, "") == (found["rows"], found["cells"])


def test_phases_are_means_over_ranks_and_what_is_left_is_other(client_with_job):
    found = client_with_job.get("/api/v1/jobs/run-1/phases", params={"points": 2}).json()
    assert [0, 20] == found["steps"]
    assert {"compute": [0.5, 0.5], "comm": [0.4, 0.4], "other": [0.1, 0.1]} == found["seconds"]


def test_everybody_waits_for_the_rank_that_waits_least(client_with_job):
    found = client_with_job.get("/api/v1/jobs/run-1/waits").json()
    assert ("rank", list("0123"), STEPS) == (found["by"], found["names"], found["steps"])
    assert [0.0, 0.0, 0.0, 16.0] == found["seconds"][0]
    (awaited,) = found["awaited"]
    assert (3, "gpu-1", STEPS) == (awaited["rank"], awaited["host"], awaited["steps"])
    assert math.isclose(48.0, awaited["seconds"], rel_tol=1e-4)


def test_without_its_slowest_rank_a_job_steps_as_its_peers_do(client_with_job):
    found = client_with_job.get("/api/v1/jobs/run-1/slowest", params={"by": "rank"}).json()
    assert ("rank", "phases", 1.0, STEPS) == tuple(
        found[key] for key in ("by", "basis", "step_seconds", "steps")
    )
    (slowest,) = found["slowest"]
    assert (3, "gpu-1") == (slowest["rank"], slowest["host"])
    (one,) = found["without"]
    assert 1 == one["removed"]
    assert math.isclose(0.6, one["without"]["step_seconds"], rel_tol=1e-3)
    assert math.isclose(4 * 0.4, one["an_hour"]["gpu_hours"], rel_tol=1e-3)


def test_a_host_that_holds_a_running_job_up_is_listed_by_what_its_repair_would_bring(
    client_with_job,
):
    (found,) = client_with_job.get("/api/v1/gains").json()["items"]
    assert ("gpu-1", [], None, []) == tuple(
        found[key] for key in ("host", "incidents", "past", "bases")
    )
    (job,) = found["now"]
    assert ("run-1", found["an_hour"]) == (job["job"], job["an_hour"])
    assert math.isclose(4 * 0.4, job["an_hour"]["gpu_hours"], rel_tol=1e-3)
    assert [] == client_with_job.get("/api/v1/gains", params={"host": "gpu-0"}).json()["items"]


def test_hosts_are_listed_with_the_ranks_of_each_job(client_with_job):
    rows = client_with_job.get("/api/v1/hosts").json()["items"]
    assert [("gpu-0", {"run-1": 2}), ("gpu-1", {"run-1": 2})] == [
        (row["host"], row["ranks"]) for row in rows
    ]


def test_a_host_has_its_devices_with_their_ranks_and_newest_readings(client_with_job):
    found = client_with_job.get("/api/v1/hosts/gpu-1").json()
    assert {"run-1": [2, 3]} == found["ranks"]
    assert [("GPU-2", 2, "run-1"), ("GPU-3", 3, "run-1")] == [
        (one["hw_id"], one["rank"], one["job"]) for one in found["devices"]
    ]
    assert [(None, None), (1, "H100")] == [(one["index"], one["model"]) for one in found["devices"]]
    readings = {row["metric"]: row["value"] for row in found["devices"][1]["readings"]}
    assert 63.0 == readings["hw.temperature"]


def test_a_metric_of_a_host_has_a_series_for_each_device(client_with_job):
    found = client_with_job.get(
        "/api/v1/hosts/gpu-1/series", params={"metric": "hw.temperature"}
    ).json()
    assert [("GPU-2", 8), ("GPU-3", 8)] == [
        (row["attributes"]["hw.id"], len(row["points"])) for row in found["series"]
    ]
    assert client_with_job.get("/api/v1/hosts/gpu-1/series?metric=nothing").status_code == 400
    assert client_with_job.get("/api/v1/hosts/nowhere").status_code == 404


def test_a_job_that_reported_a_moment_ago_runs_and_then_has_ended(client_with_job, clock):
    assert client_with_job.get("/api/v1/jobs/run-1").json()["status"] == "running"
    clock.at += 61
    assert client_with_job.get("/api/v1/jobs/run-1").json()["status"] == "ended"


def test_docs_leads_to_the_page_of_the_api(client):
    answer = client.get("/docs")
    assert (307, "/#/api") == (answer.status_code, answer.headers["location"])


def test_a_large_answer_is_compressed_for_who_takes_it(client_with_job):
    path = "/console/vendor/uplot/uPlot.esm.js"
    plain = client_with_job.get(path, headers={"accept-encoding": "identity"})
    packed = client_with_job.get(path, headers={"accept-encoding": "gzip"})
    assert plain.content == packed.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
