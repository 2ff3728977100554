"""/actions: the record, its sum, vetoes and undos, for those who may see the job."""

import pytest


@pytest.fixture
def client(new_client, protected):
    return new_client(**protected)


def listed(client, bearer, role="read", **params):
    answer = client.get("/api/v1/actions", headers=bearer(role), params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_action_is_shown_with_its_steps(client, bearer, planned):
    planned(done=True, outcome="recovered")
    (row,) = listed(client, bearer)["items"]
    assert ("exclude_node", "done", "recovered", 2.0, 1.5, "gpu-1", "drained") == (
        row["action"],
        row["state"],
        row["outcome"],
        row["job_step_seconds_before"],
        row["job_step_seconds_after"],
        row["host"],
        row["reason"],
    )
    assert ["planned", "started", "done", "recovered"] == [one["state"] for one in row["steps"]]
    assert row == client.get("/api/v1/actions/ab12", headers=bearer("read")).json()


def test_the_record_counts_right_and_wrong_by_cause_and_executor(client, bearer, planned):
    for number, outcome in enumerate(("recovered", "recovered", "not_recovered", "undetermined")):
        planned(f"{number}", done=True, outcome=outcome, job=f"run-{number}", host=f"h{number}")
    planned("5", job="run-5", host="h5")
    (row,) = listed(client, bearer)["record"]
    assert (4, 2, 1, 1, 1) == (
        row["taken"],
        row["right"],
        row["wrong"],
        row["undetermined"],
        row["planned"],
    )


def test_pages_and_filters(client, bearer, planned):
    for number in range(3):
        planned(f"a{number}", job=f"run-{number}", host=f"h{number}")
    page = listed(client, bearer, limit=2)
    assert ["a2", "a1"] == [row["id"] for row in page["items"]]
    rest = listed(client, bearer, limit=2, cursor=page["next_cursor"])
    assert (["a0"], None) == ([row["id"] for row in rest["items"]], rest["next_cursor"])
    assert ["a1"] == [row["id"] for row in listed(client, bearer, host="h1")["items"]]
    assert [] == listed(client, bearer, state="done")["items"]
    assert 3 == len(listed(client, bearer, cause="gpu.*", job="run-*")["items"])


def test_a_planned_action_is_vetoed_by_an_admin_and_that_is_audited(client, bearer, planned):
    planned()
    refused = client.post("/api/v1/actions/ab12/veto", headers=bearer("read"))
    assert 403 == refused.status_code
    answer = client.post("/api/v1/actions/ab12/veto", headers=bearer("admin"), json={"note": "no"})
    assert (200, "vetoed", "no") == (
        answer.status_code,
        answer.json()["state"],
        answer.json()["reason"],
    )
    assert "admin-bot" == answer.json()["steps"][-1]["by"]
    audit = client.get("/api/v1/audit", headers=bearer("admin")).json()["items"]
    assert [("actions.veto", "ab12")] == [(row["action"], row["subject"]) for row in audit]


def test_what_was_done_is_too_late_for_a_veto(client, bearer, planned):
    planned(done=True)
    answer = client.post("/api/v1/actions/ab12/veto", headers=bearer("admin"))
    assert 409 == answer.status_code
    assert "only a planned one can be vetoed" in answer.text


def test_an_undo_is_asked_for_and_done_later(client, bearer, planned, store):
    planned(done=True)
    answer = client.post("/api/v1/actions/ab12/undo", headers=bearer("admin"), json={"by": "ann"})
    assert (202, "wanted", "done") == (
        answer.status_code,
        answer.json()["undo"],
        answer.json()["state"],
    )
    again = client.post("/api/v1/actions/ab12/undo", headers=bearer("admin"))
    assert (202, "wanted") == (again.status_code, again.json()["undo"])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"action": "restart"}, "steps that were lost are trained again"),
        ({"mode": "dry_run"}, "there is nothing to undo"),
    ],
)
def test_what_cannot_be_taken_back_is_said(client, bearer, planned, more, why):
    planned(done=True, **more)
    answer = client.post("/api/v1/actions/ab12/undo", headers=bearer("admin"))
    assert 409 == answer.status_code
    assert why in answer.text


def test_an_action_that_is_not_there_and_one_of_a_foreign_job_are_404(client, bearer, planned):
    planned(job="other")
    for path in ("/api/v1/actions/nothing", "/api/v1/actions/ab12"):
        assert 404 == client.get(path, headers=bearer("run-1")).status_code
    assert 404 == client.post("/api/v1/actions/ab12/veto", headers=bearer("run-1")).status_code
    assert [] == listed(client, bearer, "run-1")["items"]
    assert [] == listed(client, bearer, "run-1")["record"]
