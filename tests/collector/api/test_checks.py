"""/checks: results are kept, a host's like are its comparison, and nobody outweighs another."""

import pytest


@pytest.fixture
def client(new_client, protected):
    return new_client(**protected)


def result(value, *, check="matmul", device="cpu", verdict="pass", kind="H200", **more):
    row = {"check": check, "device": device, "value": value, "unit": "s", "verdict": verdict}
    return {**row, "kind": kind, **more}


@pytest.fixture
def keep(client, bearer):
    def post(host, *results, role="ingest", status=201, **more):
        body = {"host": host, "results": list(results), **more}
        answer = client.post("/api/v1/checks", headers=bearer(role), json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    return post


@pytest.fixture
def distribution(client, bearer):
    def get(**asked):
        asked = {"check": "matmul", "kind": "H200", **asked}
        answer = client.get("/api/v1/checks/distribution", headers=bearer("ingest"), params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()["values"]

    return get


@pytest.fixture
def listed(client, bearer):
    def get(**asked):
        answer = client.get("/api/v1/checks", headers=bearer("read"), params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get


def test_a_result_is_kept_and_shown_as_it_was_sent(keep, listed):
    sent = result(
        90.0, verdict="slow", reason="10% below", expected=100.0, interval=[95.0, 105.0],
        compared_with="12 hosts",
    )  # fmt: skip
    assert {"kept": 1} == keep("gpu-1", sent, place="hall-2", incident="ab12")
    (row,) = listed()["items"]
    assert {**sent, "host": "gpu-1", "place": "hall-2", "incident": "ab12"} == {
        name: value for name, value in row.items() if name != "at"
    }


def test_a_host_is_compared_with_the_others_of_its_kind_and_place(keep, distribution):
    for number in range(4):
        keep(f"gpu-{number}", result(100.0 + number), place="hall-2")
    keep("gpu-7", result(50.0, kind="A100"), place="hall-2")
    keep("gpu-8", result(60.0), place="hall-3")
    keep("gpu-9", result(None, verdict="not_measured"), place="hall-2")
    assert [101.0, 102.0, 103.0] == sorted(distribution(place="hall-2", host="gpu-0"))
    assert [60.0] == distribution(place="hall-3")
    assert [] == distribution(place="nowhere")


def test_a_host_counts_once_however_often_it_measures_and_however_many_devices_it_has(
    keep, distribution
):
    for value in (10.0, 11.0, 12.0):
        keep("gpu-1", result(value, device="GPU-1"), result(value + 10, device="GPU-2"))
    keep("gpu-2", result(30.0))
    assert [16.0, 30.0] == sorted(distribution())


def test_of_one_check_of_one_device_the_newest_twenty_are_kept(keep, listed):
    for value in range(23):
        keep("gpu-1", result(float(value)))
    keep("gpu-1", result(5.0, check="cpu"))
    items = listed(limit=100, check="matmul")["items"]
    assert [float(value) for value in range(22, 2, -1)] == [row["value"] for row in items]
    assert 1 == len(listed(check="cpu")["items"])


def test_lists_are_filtered_and_come_in_pages(keep, listed):
    keep("gpu-1", result(1.0), result(2.0, check="cpu", verdict="slow"))
    keep("gpu-2", result(3.0), incident="ab")
    page = listed(limit=2)
    assert [3.0, 2.0] == [row["value"] for row in page["items"]]
    assert [1.0] == [row["value"] for row in listed(limit=2, cursor=page["next_cursor"])["items"]]
    assert [2.0] == [row["value"] for row in listed(verdict="slow")["items"]]
    assert [3.0] == [row["value"] for row in listed(incident="ab")["items"]]
    assert [3.0] == [row["value"] for row in listed(host="gpu-2")["items"]]
    assert [] == listed(since="2100-01-01T00:00:00Z")["items"]


@pytest.mark.parametrize(
    "wrong",
    [
        result(1.0, check="matmull"),
        result(1.0, verdict="good"),
        result("many"),
        result(1.0, interval=[1.0]),
        result(1.0, device=""),
        {**result(1.0), "more": 1},
    ],
)
def test_what_is_no_result_is_refused(keep, listed, wrong):
    keep("gpu-1", wrong, status=422)
    assert [] == listed()["items"]


def test_a_token_that_may_only_send_may_not_list(client, bearer, keep):
    keep("gpu-1", result(1.0))
    assert 403 == client.get("/api/v1/checks", headers=bearer("ingest")).status_code
    assert 401 == client.post("/api/v1/checks", json={"host": "a", "results": []}).status_code


def test_the_newest_verdict_of_each_device_is_a_metric(client, keep):
    keep("gpu-1", result(100.0, device="GPU-1"))
    keep("gpu-1", result(80.0, device="GPU-1", verdict="slow"))
    page = client.get("/metrics").text
    labels = 'check="matmul",device="GPU-1",host_name="gpu-1"'
    assert f"rankscope_check_value{{{labels}}} 80.0" in page
    assert f'rankscope_check_verdict{{{labels},verdict="slow"}} 1.0' in page
    assert 'verdict="pass"' not in page
