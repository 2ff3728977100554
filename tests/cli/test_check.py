"""`rankscope check` as a newcomer runs it: alone, with a collector, for an incident."""

import io
import json
import urllib.request
from pathlib import Path

import pytest
from tests.serving import Answer, served

from rankscope.checks import node_checks
from rankscope.checks.judging import JudgedCheck
from rankscope.cli import separating
from rankscope.cli.main import main
from rankscope.collector.settings.collector import CollectorSettings


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("RANKSCOPE_URL", "RANKSCOPE_TOKEN", "RANKSCOPE_NODE__HOST", "RANKSCOPE_PLACE"):
        monkeypatch.delenv(name, raising=False)


def judged(name, verdict="pass", value=100.0, reason="why"):
    return JudgedCheck(name, "cpu", value, "By/s", verdict, reason, kind="model")


@pytest.fixture
def results(monkeypatch):
    """Return a list of what the node's checks give, by those that are asked for."""
    given: dict[str, JudgedCheck] = {}
    asked: list[tuple[str, ...]] = []

    def check(plan, **_):
        asked.append(plan.only)
        return [row for name, row in given.items() if not plan.only or name in plan.only]

    monkeypatch.setattr(node_checks, "check", check)
    monkeypatch.setattr(separating, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(separating, "_SETTLE_SECONDS", 0.02)
    return given, asked


def run(*words, capsys):
    code = main(["check", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_check_of_this_node_is_measured_and_printed_in_one_line(capsys):
    code, out, err = run("--only", "dns", "--host", "gpu-1", capsys=capsys)
    assert (0, "gpu-1: pass: 1 passed\n", "") == (code, out, err)


def test_the_document_is_one_line_of_json(capsys):
    code, out, _ = run("--only", "dns,rendezvous", "--json", capsys=capsys)
    document = json.loads(out)
    assert 0 == code
    assert ["dns", "rendezvous"] == [row["check"] for row in document["results"]]


@pytest.mark.parametrize(
    ("verdict", "code"), [("pass", 0), ("not_measured", 0), ("slow", 1), ("failed", 1)]
)
def test_exit_codes(verdict, code, results, capsys):
    results[0]["cpu"] = judged("cpu", verdict)
    assert code == run(capsys=capsys)[0]


def test_the_line_says_what_is_wrong_first(results, capsys):
    results[0].update(
        cpu=judged("cpu"), matmul=judged("matmul", "slow", reason="12% below 100 B/s"),
        dns=judged("dns", "not_measured", None, "no name"),
    )  # fmt: skip
    _, out, _ = run("--host", "gpu-1", "--verbose", capsys=capsys)
    first, *rest = out.splitlines()
    assert (
        "gpu-1: slow: matmul of cpu slow: 12% below 100 B/s; 1 passed; 1 not measured: no name"
    ) == first
    assert ["cpu", "matmul", "dns"] == [line.split()[0] for line in rest]


def test_what_was_not_measured_is_said_once(results, capsys):
    results[0].update(cpu=judged("cpu", "not_measured", None, "a job runs here"))
    assert "gpu-1: 1 not measured: a job runs here\n" == run("--host", "gpu-1", capsys=capsys)[1]
    results[0].update(dns=judged("dns", "not_measured", None, "no name"))
    _, out, _ = run("--host", "gpu-1", capsys=capsys)
    assert out.startswith("gpu-1: 2 not measured, most often because: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "clok"), "did you mean clock?"),
        (("--shared", "/nowhere/at/all"), "is no folder"),
        (("--url", "ftp://gpu-1"), "is not an address"),
        (("--incident", "ab12", "--url", "http://127.0.0.1:1"), "no collector answers"),
    ],
)
def test_wrong_use_is_answered_with_what_to_write(words, said, capsys):
    code, out, err = run(*words, capsys=capsys)
    assert (2, "") == (code, out)
    assert said in err


@pytest.mark.parametrize(
    "words", [("--seconds", "0"), ("--seconds", "99999"), ("--peer", "a:b"), ("--port", "0")]
)
def test_wrong_arguments_end_with_2(words):
    with pytest.raises(SystemExit) as ended:
        main(["check", *words])
    assert 2 == ended.value.code


def test_the_list_names_every_check(capsys):
    code, out, _ = run("--list", capsys=capsys)
    assert 0 == code
    assert "all_reduce_pair" in out


def test_without_the_collector_that_is_named_the_node_is_checked_all_the_same(results, capsys):
    results[0]["cpu"] = judged("cpu")
    code, out, err = run("--url", "http://127.0.0.1:1", "--host", "a", capsys=capsys)
    assert (0, "a: pass: 1 passed\n") == (code, out)
    assert "the results are not kept: no collector answers" in err


def test_what_is_no_collector_is_said_and_stops_nothing(results, capsys):
    results[0]["cpu"] = judged("cpu")
    with served(lambda _: Answer(b"<html>", "text/html")) as url:
        code, _, err = run("--url", url, capsys=capsys)
    assert 0 == code
    assert "is not a collector" in err


def test_a_running_collector_keeps_results_and_is_compared_with(tmp_path, serving, capsys):
    settings = CollectorSettings.model_validate(
        {"data_dir": tmp_path / "data", "http": {"listen": "127.0.0.1:0"}}
    )
    with serving(settings) as url:
        for number in range(6):
            words = ("--only", "dns", "memory_bandwidth", "--host", f"gpu-{number}")
            _, out, err = run(*words, "--url", url, "--beside-jobs", "--json", capsys=capsys)
            assert "" == err
            row = json.loads(out.splitlines()[-1])["results"][1]
            assert "memory_bandwidth" == row["check"]
            if number < 5:
                assert "not_measured" == row["verdict"]
        assert row["compared_with"].startswith("5 hosts of its kind")


def hypothesis(fault, probability, host):
    return {
        "fault": fault,
        "score": 1.0,
        "probability": probability,
        "entity": {"type": "host", "id": host, "host": host, "ranks": [1]},
    }


class Incident:
    """A collector with one incident; what is sent to it is kept, and moves its causes."""

    def __init__(self, *faults, host="gpu-1"):
        self.host, self.faults, self.sent, self.past = host, faults, [], []

    def __call__(self, request):
        path = request.path.partition("?")[0]
        if request.body:
            self.sent.append((path, json.loads(request.body)))
            return Answer(b"{}", "application/json")
        if path.startswith("/api/v1/incidents/"):
            return self._json(self.document())
        return self._json({"items": self.past, "next_cursor": None})

    def document(self):
        shares = (0.9, 0.1) if self.sent else (0.5, 0.4)
        found = zip(self.faults, shares, strict=True)
        return {
            "id": "0123456789abcdef",
            "resolved_at": None,
            "root_cause": {"hypotheses": [hypothesis(one, p, self.host) for one, p in found]},
            "timeline": [{"at": "", "kind": "check", "text": "check cpu of cpu"}] * len(self.sent),
        }

    def _json(self, document):
        return Answer(json.dumps(document).encode(), "application/json")


def for_incident(collector, *words, capsys, host="gpu-1"):
    with served(collector) as url:
        return run("--incident", "0123456789", "--url", url, "--host", host, *words, capsys=capsys)


def test_the_check_that_separates_an_incidents_causes_runs_and_is_its_evidence(results, capsys):
    given, asked = results
    given.update(cpu=judged("cpu", "slow"), matmul=judged("matmul"))
    collector = Incident("host.cpu_contention", "gpu.slow")
    code, out, err = for_incident(collector, "--json", capsys=capsys)
    assert (1, "", [("cpu",)]) == (code, err, asked)
    found = json.loads(out)["incident"]
    assert ("cpu", 0.5, 0.9) == (
        found["check"],
        found["before"]["probability"],
        found["after"]["probability"],
    )
    (kept, body), (logs, events) = collector.sent
    assert ("/api/v1/checks", "/v1/logs") == (kept, logs)
    assert "0123456789abcdef" == body["incident"]
    assert "check.result" in json.dumps(events)


def test_where_the_best_check_cannot_be_measured_the_next_one_is(results, capsys):
    given, asked = results
    given.update(cpu=judged("cpu", "not_measured", None), matmul=judged("matmul"))
    code, out, _ = for_incident(Incident("host.cpu_contention", "gpu.slow"), capsys=capsys)
    assert (0, [("cpu",), ("matmul",)]) == (code, asked)
    assert "host.cpu_contention at host gpu-1 (50%); now " in out


def test_on_another_host_it_says_where_to_run_it(results, capsys):
    code, _, err = for_incident(
        Incident("host.cpu_contention", "gpu.slow"), host="gpu-9", capsys=capsys
    )
    assert (2, []) == (code, results[1])
    assert "its causes are at gpu-1, and this host is gpu-9" in err


def test_what_no_check_separates_is_said(results, capsys):
    code, out, err = for_incident(
        Incident("software.deadlock", "software.crash"), "--json", capsys=capsys
    )
    assert (0, "not_measured", []) == (code, json.loads(out)["verdict"], results[1])
    assert "no check tells its causes apart" in err


def test_a_check_that_was_run_for_it_is_not_run_again(results, capsys):
    given, asked = results
    given.update(cpu=judged("cpu"), matmul=judged("matmul"))
    collector = Incident("host.cpu_contention", "gpu.slow")
    collector.past = [{"check": "cpu", "verdict": "pass"}]
    for_incident(collector, capsys=capsys)
    assert [("matmul",)] == asked


CAPTURES = Path(__file__).parents[1] / "formats" / "check_reports" / "captures"


def test_a_report_of_another_tool_is_taken_instead_of_measuring(results, capsys):
    report = str(CAPTURES / "dcgm-3.3-two-bad-gpus.json")
    code, out, err = run("--read", report, "--host", "gpu-7", capsys=capsys)
    assert (1, "", []) == (code, err, results[1])
    assert out.startswith("gpu-7: failed: ")
    assert "tool_heat of GPU 2 failed: dcgmi diag 3.3.9: Targeted Power: fail: Thermal" in out


def test_a_report_of_several_hosts_is_a_line_a_host_and_sent_for_each(capsys):
    sent = []

    def collector(request):
        if request.body:
            sent.append((request.path, json.loads(request.body)))
        return Answer(b'{"values": []}', "application/json")

    report = str(CAPTURES / "superbench-diagnosis-summary.jsonl")
    with served(collector) as url:
        code, out, err = run("--read", report, "--url", url, "--json", capsys=capsys)
    assert (1, "") == (code, err)
    assert ["node-1", "node-3"] == [json.loads(line)["host"] for line in out.splitlines()]
    kept = [body["host"] for path, body in sent if path == "/api/v1/checks"]
    assert ["node-1", "node-3"] == kept
    events = json.dumps([body for path, body in sent if path == "/v1/logs"])
    assert "check.result" in events
    assert "tool_host_link" in events


def test_a_running_collector_takes_the_results_of_every_kind_of_report(tmp_path, serving, capsys):
    settings = CollectorSettings.model_validate(
        {"data_dir": tmp_path / "data", "http": {"listen": "127.0.0.1:0"}}
    )
    reports = sorted(str(path) for path in CAPTURES.iterdir())
    with serving(settings) as url:
        code, out, err = run("--read", *reports, "--host", "gpu-7", "--url", url, capsys=capsys)
        assert (1, "") == (code, err)
        with urllib.request.urlopen(f"{url}/api/v1/checks?host=gpu-7&limit=200") as answer:
            kept = json.loads(answer.read())["items"]
    assert "gpu-7: failed: " in out
    assert {"failed", "slow", "pass", "not_measured"} == {row["verdict"] for row in kept}


def test_standard_input_is_read_and_what_is_wrong_with_it_said(monkeypatch, capsys):
    data = (CAPTURES / "dcgm-4.2-one-gpu-gone.json").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data[:900])))
    code, out, err = run("--read", "-", capsys=capsys)
    assert (2, "") == (code, out)
    assert "rankscope check: standard input: line " in err
    assert "it was cut off" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--read", "/nowhere/diag.json"), "/nowhere/diag.json cannot be read: No such file"),
        (("--read", __file__), "no report that is known"),
        (("--read", "-", "--only", "cpu"), "leave --only and --peer out"),
    ],
)
def test_wrong_use_of_reports_is_answered_with_what_to_write(words, said, capsys):
    code, out, err = run(*words, capsys=capsys)
    assert (2, "") == (code, out)
    assert said in err
