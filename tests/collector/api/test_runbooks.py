"""/runbooks: the page that an incident's first cause names, from the collector itself."""

from rankscope.alerts.causes.catalogue import catalogue


def test_every_fault_has_its_page(client):
    for fault in [*(cause.fault for cause in catalogue().causes), "unknown"]:
        answer = client.get(f"/api/v1/runbooks/{fault}")
        assert 200 == answer.status_code
        assert answer.headers["content-type"].startswith("text/markdown")
        assert answer.text.startswith(f"# {fault}: ")


def test_a_fault_that_is_none_is_answered_with_its_neighbours(client):
    answer = client.get("/api/v1/runbooks/host.lots")
    assert 404 == answer.status_code
    assert "host.lost" in answer.json()["detail"]


def test_nothing_but_runbooks_is_read(client):
    for name in ("..%2f..%2FREADME", "host.lost.md", "runbooks"):
        assert 404 == client.get(f"/api/v1/runbooks/{name}").status_code, name
