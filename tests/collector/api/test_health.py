"""Health, metrics, OpenAPI and the console: what machines and browsers ask without a token."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankscope.collector.accounting import exported
from rankscope.collector.accounting.families import FAMILIES
from rankscope.collector.flows.stages import CollectorStages
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.store import answering
from rankscope.collector.store.errors import UnusableError
from rankscope.formats.otlp.columns import SeriesTable


def _samples(client):
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_alive_and_ready_are_two_things(client, monkeypatch):
    assert client.get("/healthz").json() == {"status": "ok", "version": "0.1.0"}
    assert client.get("/readyz").json() == {"status": "ok", "version": "0.1.0", "warnings": []}
    monkeypatch.setattr(CollectorStages, "ready", property(lambda _stages: False))
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_who_would_be_refused_is_told_so(client, health):
    health.journal_answered("the journal cannot be written: No space left on device")
    answer = client.get("/readyz")
    assert (503, "3") == (answer.status_code, answer.headers["retry-after"])
    assert "the journal cannot be written: No space left on device" == answer.json()["detail"]
    assert _samples(client)["rankscope_collector_journal_up",] == 0
    health.journal_answered(warning="the disk of the journal has 9 MiB left")
    assert ["the disk of the journal has 9 MiB left"] == client.get("/readyz").json()["warnings"]
    assert _samples(client)["rankscope_collector_journal_up",] == 1


def test_a_store_that_is_away_is_a_warning_of_readiness_that_waits_for_no_database(
    client, store, health, monkeypatch
):
    """Telemetry is taken and kept: whoever sends it must not be sent away."""

    def fail():
        raise UnusableError("the store does not answer: disk I/O error")

    monkeypatch.setattr(store, "check", fail)
    answering.check(store, health)
    monkeypatch.setattr(store, "check", lambda: pytest.fail("a probe asked the database"))
    answer = client.get("/readyz")
    assert answer.status_code == 200
    [warning] = answer.json()["warnings"]
    assert warning.startswith("the store does not answer: disk I/O error")
    assert _samples(client)["rankscope_collector_store_up",] == 0
    monkeypatch.undo()
    answering.check(store, health)
    assert client.get("/readyz").json()["warnings"] == []
    assert _samples(client)["rankscope_collector_store_up",] == 1


def test_a_full_series_table_is_a_warning_of_readiness_and_no_failure(client, monkeypatch):
    monkeypatch.setattr(SeriesTable, "full", property(lambda _table: True))
    answer = client.get("/readyz")
    assert answer.status_code == 200
    [warning] = answer.json()["warnings"]
    assert "evaluation.max_series" in warning


def test_incidents_and_what_they_took_are_metrics(client, opened, send_steps):
    send_steps(client, steps=101)
    opened(identity="a", at=1_699_999_950.0, lost=50.0)
    opened(identity="b", at=1_699_999_960.0, lost=50.0)
    opened(
        "resolved", identity="c", severity="info", fault="gpu.slow", status="resolved", lost=3.0,
    )  # fmt: skip
    samples = _samples(client)
    place = ("critical", "host.cpu_contention", "open", "run-1")
    assert samples["rankscope_incidents", *place] == 2
    assert samples["rankscope_incidents", "gpu.slow", "info", "resolved", "run-1"] == 1
    lost = "rankscope_gpu_seconds_lost_total"
    assert samples[lost, "host.cpu_contention", "run-1"] == 100
    assert samples["rankscope_job_goodput_ratio", "run-1"] == pytest.approx(0.5, abs=0.03)
    assert samples["rankscope_webhook_messages", "pending"] == 0
    assert samples["rankscope_webhook_oldest_pending_seconds",] == 0
    assert samples["rankscope_collector_payloads_total", "metrics_protobuf"] == 1


def test_jobs_that_report_are_metrics_and_leave_after_five_minutes(client, send_steps, clock):
    send_steps(client, steps=21)
    samples = _samples(client)
    assert samples["rankscope_job_info", "", "0", "c1", "run-1"] == 1
    assert samples["rankscope_job_ranks", "run-1"] == 2
    assert samples["rankscope_job_hosts", "run-1"] == 2
    assert samples["rankscope_job_step", "run-1"] == 20
    assert samples["rankscope_job_step_duration_seconds", "run-1"] == pytest.approx(1.0)
    assert samples["rankscope_job_last_received_age_seconds", "run-1"] < 5
    clock.at += 301
    assert not [key for key in _samples(client) if key[0].startswith("rankscope_job_s")]


def test_an_incident_that_is_not_resolved_is_shown_with_cause_and_place(client, opened):
    first = opened(identity="a", lost=50.0)
    opened("resolved", identity="b", status="resolved", lost=30.0)
    (active,) = [key for key in _samples(client) if key[0] == "rankscope_incident_active"]
    assert {first, "run-1", "host.cpu_contention", "critical", "open", "host"} <= {*active}
    samples = _samples(client)
    assert samples["rankscope_incident_gpu_seconds_lost", first, "run-1"] == 50
    assert samples["rankscope_incident_opened_timestamp_seconds", first, "run-1"] > 0
    opened("resolved", identity="a", status="resolved", lost=60.0, updated_at=1_900_000_000.0)
    shown = {key[0] for key in _samples(client)}
    assert not shown & {"rankscope_incident_active", "rankscope_incident_gpu_seconds_lost"}


def test_gpus_that_are_lost_now_are_metrics_by_job_and_fault_and_by_incident(
    new_services, client_of, opened
):
    services = new_services()
    first, second = opened(identity="a"), opened(identity="b", fault="gpu.slow")
    services.stages.read(
        lambda line: line.tracker.losses.now.update(
            {"run-1": {first: ("host.cpu_contention", 1.5), second: ("gpu.slow", 0.5)}}
        )
    )
    samples = _samples(client_of(services))
    assert samples["rankscope_gpus_lost", "host.cpu_contention", "run-1"] == 1.5
    assert samples["rankscope_gpus_lost", "gpu.slow", "run-1"] == 0.5
    assert samples["rankscope_incident_gpus_lost", first, "run-1"] == 1.5


def test_what_incidents_took_is_summed_by_the_host_of_their_first_cause(client, opened):
    opened("resolved", identity="a", status="resolved", lost=50.0)
    opened("resolved", identity="b", status="resolved", lost=30.0)
    lost = {key: value for key, value in _samples(client).items() if "_host_gpu_" in key[0]}
    ((key, value),) = lost.items()
    assert (value, key[0]) == (80.0, "rankscope_host_gpu_seconds_lost_total")


def test_what_a_host_took_stays_so_that_it_never_comes_back_as_if_it_were_new(
    client, opened, clock
):
    """Over a range in which a counter begins, all of it counts as gained."""
    opened("resolved", identity="a", status="resolved", lost=50.0)
    clock.at += 8 * 86400
    ((_, value),) = [item for item in _samples(client).items() if "_host_gpu_" in item[0][0]]
    assert value == 50.0


def test_every_series_of_the_page_is_one_that_is_documented(client, opened, send_steps):
    send_steps(client)
    opened()
    documented = {family.name: family for family in FAMILIES}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            if not sample.name.startswith(("rankscope_collector_", "rankscope_webhook_defects")):
                assert sorted(documented[sample.name].labels) == sorted(sample.labels)


def test_the_outbox_is_metered(client, opened, clock):
    client.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/"})
    opened(updated_at=clock.at)
    clock.at += 30
    samples = _samples(client)
    assert samples["rankscope_webhook_messages", "pending"] == 1
    assert samples["rankscope_webhook_oldest_pending_seconds",] == 30


def test_jobs_without_news_for_a_week_leave_the_metrics_whole(client, opened, clock):
    """A counter that lost only some of its incidents would go down, which reads as a restart."""
    opened("resolved", identity="a", status="resolved")
    clock.at += 8 * 86400
    assert not [key for key in _samples(client) if key[0] == "rankscope_incidents"]
    opened("resolved", identity="b", status="resolved", updated_at=clock.at)
    lost = "rankscope_gpu_seconds_lost_total"
    assert _samples(client)[lost, "host.cpu_contention", "run-1"] == 200


def test_a_job_id_of_any_letters_makes_valid_metrics(client, opened):
    opened(jobs=('a"b\\c\nd\u00fc',))
    names = {key[-1] for key in _samples(client) if key[0] == "rankscope_gpu_seconds_lost_total"}
    labels = [key for key in _samples(client) if key[0] == "rankscope_incidents"]
    assert any('a"b\\c\nd\u00fc' in key for key in labels)
    assert names


def test_a_scrape_does_not_read_every_incident_again(client, opened, store, monkeypatch):
    """With a year of incidents in the store a scrape costs what changed since the last one."""
    first = opened(identity="a", lost=50.0)
    _samples(client)

    def fail():
        raise AssertionError("read again")

    monkeypatch.setattr(store, "costs", fail)
    opened(identity="b", lost=30.0, fault="gpu.slow")
    client.post(f"/api/v1/incidents/{first}/ack")
    samples = _samples(client)
    assert samples["rankscope_gpu_seconds_lost_total", "host.cpu_contention", "run-1"] == 50
    assert samples["rankscope_gpu_seconds_lost_total", "gpu.slow", "run-1"] == 30
    statuses = [key for key in samples if key[0] == "rankscope_incidents"]
    assert [1, 1] == [sum(word in key for key in statuses) for word in ("acknowledged", "open")]


def test_a_first_cause_that_changes_moves_its_costs(client, opened, clock):
    opened(identity="a", lost=50.0)
    _samples(client)
    opened("updated", identity="a", lost=60.0, fault="gpu.slow", updated_at=clock.at + 9)
    samples = _samples(client)
    lost = {key: samples[key] for key in samples if key[0] == "rankscope_gpu_seconds_lost_total"}
    assert lost == {("rankscope_gpu_seconds_lost_total", "gpu.slow", "run-1"): 60}


def test_resolved_incidents_leave_the_store_and_the_statistics_when_their_time_is_over(
    client, store, opened, clock
):
    old = opened("resolved", identity="a", status="resolved")
    active = opened(identity="b")
    assert sum(client.get("/api/v1/stats").json()["incidents"].values()) == 2
    clock.at += 366 * 86400
    assert store.trim_incidents(before=clock.at - 365 * 86400) == 1
    assert client.get("/api/v1/stats").json()["incidents"] == {
        "open": 1, "acknowledged": 0, "resolved": 0,
    }  # fmt: skip
    assert client.get(f"/api/v1/incidents/{old}").status_code == 404
    assert client.get(f"/api/v1/incidents/{active}").status_code == 200


def test_scores_of_a_job_that_no_longer_reports_are_gone(client, send_steps, clock, monkeypatch):
    monkeypatch.setattr(
        DetectionPipeline, "scores", lambda _self: [("run-1", "stragglers", 1, 4.0)]
    )
    send_steps(client)
    assert [4.0] == [v for k, v in _samples(client).items() if "detector_score" in k[0]]
    clock.at += 301
    assert [] == [v for k, v in _samples(client).items() if "detector_score" in k[0]]


def test_ranks_that_stand_out_are_bounded_and_listed_once(client, send_steps, monkeypatch):
    send_steps(client)
    rows = [("run-1", "stragglers", rank % 5, float(rank)) for rank in range(10)]
    monkeypatch.setattr(DetectionPipeline, "scores", lambda _self: rows)
    monkeypatch.setattr(exported, "MOST_SERIES", 3)
    scores = {
        key[1]: value for key, value in _samples(client).items() if "detector_score" in key[0]
    }
    assert scores == {"4": 9.0, "3": 8.0, "2": 7.0}


def test_openapi_describes_every_path_of_the_contract(client):
    description = client.get("/openapi.json").json()
    base = "/api/v1"
    paths = {
        "get": [
            "/jobs", "/jobs/{job}", "/jobs/{job}/ranks", "/jobs/{job}/series", "/incidents",
            "/incidents/{incident}", "/incidents/{incident}/root-cause",
            "/incidents/{incident}/timeline", "/root-cause", "/topology", "/stats", "/targets",
            "/events", "/silences", "/maintenance", "/webhooks",
            "/webhooks/{webhook}/deliveries",
        ],
        "post": [
            "/incidents/{incident}/ack", "/incidents/{incident}/resolve",
            "/incidents/{incident}/assign", "/incidents/{incident}/feedback", "/silences",
            "/maintenance", "/webhooks", "/webhooks/{webhook}/test",
            "/webhooks/{webhook}/replay", "/write",
        ],
        "delete": ["/silences/{silence}", "/maintenance/{window}", "/webhooks/{webhook}"],
    }  # fmt: skip
    for method, ends in paths.items():
        for end in ends:
            operation = description["paths"][base + end][method]
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    for path in ("/v1/metrics", "/v1/logs", "/healthz", "/readyz", "/metrics"):
        assert path in description["paths"]
    assert "Problem" in description["components"]["schemas"]


def test_every_reference_of_openapi_leads_somewhere(client):
    text = client.get("/openapi.json").text
    known = client.get("/openapi.json").json()["components"]["schemas"]
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= known.keys()


def test_the_console_is_served_with_its_headers(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    script = client.get("/console/app.js")
    assert script.headers["content-type"].startswith("text/javascript")


def test_a_question_during_a_long_write_does_not_wait(client, store):
    """Readers of the store never wait for its writer."""
    with store._database.write():
        assert client.get("/api/v1/incidents").status_code == 200
