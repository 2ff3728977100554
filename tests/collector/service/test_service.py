"""A running collector: addresses, tokens, restart, and a replay of its own journal."""

import re

import httpx
import pytest
from tests.waiting import until

from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.service import CollectorService
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.formats import segments
from rankscope.vocabulary.clock import SystemClock

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def entries(folder):
    return [
        entry for entry in journals.read(folder / "journal") if entry.kind is not PayloadKind.STOP
    ]


def test_what_was_acknowledged_is_in_the_journal(collector, tmp_path, metrics_body):
    body = metrics_body(1.0, 2.0)
    answer = httpx.post(f"{collector.address}/v1/metrics", content=body, headers=PROTOBUF)
    assert answer.status_code == 200
    assert [entry.body for entry in entries(tmp_path / "data")] == [body]


def test_health_readiness_and_metrics_answer_without_a_token(collector_at, tmp_path):
    token = {"token": "x" * 20, "role": "read"}
    with collector_at(tmp_path, api={"tokens": [token]}) as service:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert httpx.get(service.address + path).status_code == 200


def test_its_own_health_counts_what_came_in(collector, metrics_body):
    httpx.post(f"{collector.address}/v1/metrics", content=metrics_body(1.0), headers=PROTOBUF)
    text = httpx.get(f"{collector.address}/metrics").text
    assert "rankscope_collector_samples_total 1.0" in text


def test_a_token_limited_to_some_jobs_may_not_speak_for_others(
    collector_at, tmp_path, metrics_body
):
    tokens = [
        {"token": "a" * 20, "role": "ingest", "jobs": ["run-*"]},
        {"token": "b" * 20, "role": "ingest", "jobs": ["other"]},
    ]
    with collector_at(tmp_path, api={"tokens": tokens}) as service:

        def status(token):
            headers = PROTOBUF | ({"Authorization": f"Bearer {token * 20}"} if token else {})
            return httpx.post(
                f"{service.address}/v1/metrics", content=metrics_body(1.0), headers=headers
            ).status_code

        assert [status("a"), status("b"), status("c"), status("")] == [200, 403, 401, 401]


def test_a_second_collector_on_the_same_folder_is_refused(collector, tmp_path):
    settings = CollectorSettings.model_validate(
        {"data_dir": tmp_path / "data", "http": {"listen": "127.0.0.1:0"}}
    )
    with pytest.raises(segments.LockedError):
        CollectorService(settings, clock=SystemClock())


def test_without_a_token_it_listens_on_loopback_whatever_was_asked(collector_at, tmp_path, capsys):
    with collector_at(tmp_path, http={"listen": "0.0.0.0:0"}) as service:
        assert service.address.startswith("http://127.0.0.1:")
    assert "no token is configured" in "".join(capsys.readouterr())


def test_what_cannot_be_had_at_the_start_is_named_with_its_key_and_the_fix(collector, tmp_path):
    taken = collector.address.removeprefix("http://")
    (tmp_path / "file").write_text("no folder")
    for changed, words in (
        ({"http": {"listen": taken}}, ("http.listen", taken, "in use", "RANKSCOPE_HTTP__LISTEN")),
        ({"http": {"listen": "a.invalid:0"}}, ("http.listen", "a.invalid")),
        ({"data_dir": tmp_path / "file" / "data"}, ("data_dir", "RANKSCOPE_DATA_DIR")),
    ):
        given = {"data_dir": tmp_path / "other", "http": {"listen": "127.0.0.1:0"}, **changed}
        with pytest.raises(OSError, match=re.escape(words[0])) as raised:
            CollectorService(CollectorSettings.model_validate(given), clock=SystemClock())
        assert [] == [word for word in words if word not in str(raised.value)]


def test_only_its_own_user_reads_the_data_folder(collector, tmp_path):
    """What jobs report, and secrets of webhooks, are not for every user of the machine."""
    assert 0o700 == (tmp_path / "data").stat().st_mode & 0o777


def test_a_port_in_use_is_an_error_and_leaves_the_folder_free(collector, tmp_path):
    settings = CollectorSettings.model_validate(
        {"data_dir": tmp_path / "other", "http": {"listen": collector.address[len("http://") :]}}
    )
    for _ in range(2):
        with pytest.raises(OSError, match="in use"):
            CollectorService(settings, clock=SystemClock())


def wait_for_metric(service, line):
    until(lambda: httpx.get(f"{service.address}/metrics").text, line, lambda page: line in page)


def test_a_restart_goes_on_from_the_snapshot_of_a_clean_stop(collector_at, tmp_path, metrics_body):
    with collector_at(tmp_path) as service:
        for _ in range(3):
            httpx.post(f"{service.address}/v1/metrics", content=metrics_body(1), headers=PROTOBUF)
    with collector_at(tmp_path) as service:
        # Only the note of the stop comes after the snapshot.
        wait_for_metric(service, "rankscope_collector_restart_records_total 1.0")


def test_without_a_snapshot_a_restart_reads_the_last_minutes_again(
    collector_at, tmp_path, metrics_body
):
    with collector_at(tmp_path) as service:
        for _ in range(3):
            httpx.post(f"{service.address}/v1/metrics", content=metrics_body(1), headers=PROTOBUF)
    (tmp_path / "snapshot").write_bytes(b"damaged")
    with collector_at(tmp_path) as service:
        # Three payloads and the note of the stop.
        wait_for_metric(service, "rankscope_collector_restart_records_total 4.0")
