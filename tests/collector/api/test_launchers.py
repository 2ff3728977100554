"""What agents are asked to do to torchrun's ranks, and what they answer: over HTTP."""

from rankscope.collector.store.launcher_orders import LauncherOrderRecord


def ask(store, now, host="gpu-1"):
    order = LauncherOrderRecord(
        action="ab12", host=host, job="run-1", what="restart", at=now - 1.0, until=now + 60.0
    )
    store.ask_launchers([order])


def wanted(client, bearer, host="gpu-1"):
    path = f"/api/v1/agents/{host}/requests?what=launchers"
    answer = client.get(path, headers=bearer("ingest"))
    assert 200 == answer.status_code, answer.text
    return [(row["id"], row["job"], row["what"]) for row in answer.json()["items"]]


def test_an_agent_is_told_until_it_answers_and_its_first_answer_stays(
    new_services, client_of, protected, bearer, store
):
    services = new_services(**protected)
    client = client_of(services)
    ask(store, services.store_clock.now())
    assert [] == wanted(client, bearer, "gpu-2")
    assert [("ab12", "run-1", "restart")] == wanted(client, bearer) == wanted(client, bearer)
    path = "/api/v1/agents/gpu-1/launchers/ab12"
    for state in ("done", "refused"):
        body = {"state": state, "text": "ended ranks 0"}
        assert 204 == client.post(path, headers=bearer("ingest"), json=body).status_code
    assert [] == wanted(client, bearer)
    assert ["done"] == [row.answer for row in store.launcher_orders("ab12")]


def test_who_was_not_asked_has_nothing_to_answer(new_client, protected, bearer):
    path = "/api/v1/agents/gpu-1/launchers/ab12"
    client = new_client(**protected)
    answer = client.post(path, headers=bearer("ingest"), json={"state": "done"})
    assert 404 == answer.status_code


def test_a_token_of_some_jobs_alone_may_neither_ask_nor_answer(new_client, protected, bearer):
    client, path = new_client(**protected), "/api/v1/agents/gpu-1"
    limited = bearer("run-1")
    assert 403 == client.get(f"{path}/requests?what=launchers", headers=limited).status_code
    answered = client.post(f"{path}/launchers/ab12", headers=limited, json={"state": "done"})
    assert 403 == answered.status_code
