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


@pytest.fixture
def checked(client, bearer, clock):
    """Return a function that sends a result of a check of the node that was taken out."""

    def send(verdict, *, check="matmul", host="gpu-1", device="GPU-1", reason="why"):
        clock.at += 1.0
        row = {"check": check, "device": device, "unit": "", "verdict": verdict, "reason": reason}
        body = {"host": host, "results": [row]}
        assert client.post("/api/v1/checks", headers=bearer("ingest"), json=body).is_success

    return send


@pytest.fixture
def undo(client, bearer):
    def ask(**body):
        return client.post("/api/v1/actions/ab12/undo", headers=bearer("admin"), json=body)

    return ask


def test_a_node_comes_back_after_a_check_that_it_passed_since(planned, checked, undo, clock):
    checked("pass")
    clock.at += 60.0
    planned(done=True, fault="gpu.slow")
    refused = undo(note="replaced")
    assert 409 == refused.status_code
    assert "no check that shows gpu.slow has passed on gpu-1 since: run `rankscope check" in (
        refused.text
    )
    checked("pass", check="clock", device="clock")
    assert 409 == undo().status_code
    checked("pass")
    answer = undo(note="replaced")
    assert (202, "wanted") == (answer.status_code, answer.json()["undo"])
    assert "to be taken back: replaced; passed clock, matmul" == answer.json()["steps"][-1]["text"]


def test_what_failed_since_keeps_a_node_out_whatever_else_passed(planned, checked, undo):
    planned(done=True, fault="gpu.slow")
    checked("pass")
    checked("slow", reason="12% below 590 TFLOP/s", device="GPU-2")
    assert "check matmul of GPU-2 is slow since: 12% below 590 TFLOP/s" in undo().text
    checked("pass", device="GPU-2")
    assert 202 == undo().status_code


def test_where_no_check_of_ours_shows_the_cause_any_that_passed_will_do(planned, checked, undo):
    planned(done=True, fault="gpu.row_remap")
    checked("not_measured")
    assert "no check has passed on gpu-1 since: run `rankscope check` there" in undo().text
    checked("pass", check="dns", device="dns")
    assert 202 == undo().status_code


def test_a_person_takes_it_back_unchecked_by_name_and_that_is_recorded(planned, checked, undo):
    checked("pass", host="gpu-9")
    planned(done=True, fault="gpu.slow")
    assert "or take it back without_check, by name" in undo(by="ann").text
    answer = undo(by="ann", note="urgent", without_check=True)
    step = answer.json()["steps"][-1]
    assert (202, "ann") == (answer.status_code, step["by"])
    assert step["text"].startswith("to be taken back: urgent; without a check: no check that shows")


def test_nobody_takes_it_back_unchecked_without_a_name(new_client, planned, store):
    client = new_client()
    planned(done=True)
    row = {"check": "dns", "device": "dns", "unit": "", "verdict": "pass"}
    body = {"host": "gpu-9", "results": [row]}
    assert client.post("/api/v1/checks", json=body).is_success
    refused = client.post("/api/v1/actions/ab12/undo", json={"without_check": True})
    assert 409 == refused.status_code
    assert "it comes back by name: say who (by)" in refused.text


@pytest.mark.parametrize(
    ("when", "action", "code"),
    [("never", "exclude_node", 202), ("always", "exclude_node", 409), ("always", "pause", 202)],
)
def test_the_settings_say_whether_a_check_is_asked_for(
    new_client, protected, bearer, planned, when, action, code
):
    client = new_client(**protected, actions={"check_before_return": when})
    planned(done=True, action=action)
    answer = client.post("/api/v1/actions/ab12/undo", headers=bearer("admin"))
    assert code == answer.status_code, answer.text
