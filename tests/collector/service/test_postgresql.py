"""A whole collector with its incidents in PostgreSQL."""

import httpx
from tests.waiting import until

from rankscope.collector.process import identity

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def _warnings(address, count):
    """Return the warnings of a collector that is ready all the time, once there are so many."""

    def warnings():
        answer = httpx.get(f"{address}/readyz", timeout=60)
        assert answer.status_code == 200
        return answer.json()["warnings"]

    return until(warnings, f"{count} warnings", lambda found: len(found) == count)


def test_telemetry_is_taken_while_the_database_is_away(
    postgresql, collector_at, tmp_path, metrics_body
):
    url = postgresql.new()
    with collector_at(tmp_path / "data", store={"url": url}) as service:
        assert httpx.get(f"{service.address}/readyz").status_code == 200
        postgresql.stop()
        try:
            taken = httpx.post(
                f"{service.address}/v1/metrics", content=metrics_body(1.0), headers=PROTOBUF
            )
            [warning] = _warnings(service.address, 1)
            incidents = httpx.get(f"{service.address}/api/v1/incidents")
        finally:
            postgresql.start()
        assert taken.status_code == 200
        assert "does not answer" in warning
        assert incidents.status_code == 503
        assert _warnings(service.address, 0) == []
    postgresql.drop(url)


def test_collectors_on_one_database_have_names_of_their_own_that_stay(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = identity.of(tmp_path / "a")
    assert first == identity.of(tmp_path / "a")
    assert first != identity.of(tmp_path / "b")
