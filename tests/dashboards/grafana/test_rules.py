"""Every alert fires when it should and is silent when it should be, by promtool; recordings too."""

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from rankscope.dashboards.grafana import building, queries

CASES = tomllib.loads(Path(__file__).with_name("alerts.toml").read_text(encoding="utf-8"))
RECORDED = {
    "job_id:training_step_duration_seconds:median": (
        'training_step_duration_seconds{cluster="c", job_id="a", rank="0"} 1x5',
        'training_step_duration_seconds{cluster="c", job_id="a", rank="1"} 3x5',
        'job_id:training_step_duration_seconds:median{cluster="c", job_id="a"}',
        2,
    ),
    "job_id:training_own_duration_seconds:max": (
        'training_step_duration_seconds{cluster="c", job_id="a", host_name="n", rank="0"} 3x5',
        'training_comm_duration_seconds{cluster="c", job_id="a", host_name="n", rank="0"} 1x5',
        'job_id:training_own_duration_seconds:max{cluster="c", job_id="a"}',
        2,
    ),
    "rankscope_goodput:ratio": (
        'rankscope_job_goodput_ratio{instance="x", job_id="a"} 0.5x5',
        'rankscope_job_goodput_ratio{instance="y", job_id="a"} 0.5x5',
        'rankscope_job_ranks{instance="x", job_id="a"} 8x5',
        'rankscope_job_ranks{instance="y", job_id="a"} 8x5',
        "rankscope_goodput:ratio",
        0.5,
    ),
    "host_name:hw_gpu_throttled:count": (
        'hw_gpu_throttle{cluster="c", host_name="n", gpu="0", reason="thermal_hw"} 1x5',
        'hw_gpu_throttle{cluster="c", host_name="n", gpu="0", reason="slowdown_hw"} 1x5',
        'host_name:hw_gpu_throttled:count{cluster="c", host_name="n"}',
        1,
    ),
}


@pytest.fixture
def passes(program, deployed, tmp_path):
    """Return a function that runs unit tests of the rules and returns complaints."""

    def run(tests):
        path = tmp_path / "tests.yml"
        files = [str(deployed / building.RULES / name) for name in ("recording.yml", "alerts.yml")]
        document = {"rule_files": files, "evaluation_interval": "15s", "tests": tests}
        path.write_text(yaml.safe_dump(document))
        done = subprocess.run(
            [program("promtool"), "test", "rules", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    return run


def series(lines):
    """Return promtool's input series: the values stand behind the closing brace."""
    split = [line.rpartition("} ") for line in lines]
    return [{"series": f"{name}}}", "values": values} for name, _, values in split]


def test_there_is_a_firing_and_a_silent_case_for_every_alert(rules):
    assert {rule["alert"] for rule in rules if "alert" in rule} == set(CASES)
    assert [] == [name for name, case in CASES.items() if not case["fires"] or not case["silent"]]


def test_each_alert_fires_and_is_silent(passes):
    tests = []
    for name, case in CASES.items():
        asked = f'ALERTS{{alertname="{name}", alertstate="firing"}}'
        fired = f'ALERTS{{alertname="{name}", alertstate="firing", {case["labels"]}}}'
        for lines, found in (
            (case["fires"], [{"labels": fired, "value": 1}]),
            (case["silent"], []),
        ):
            expected = {"expr": asked, "eval_time": case["at"], "exp_samples": found}
            tests.append(
                {
                    "name": f"{name} {'fires' if found else 'is silent'}",
                    "interval": "15s",
                    "input_series": series(lines),
                    "promql_expr_test": [expected],
                }
            )
    assert "" == passes(tests)


def test_recordings_are_what_their_names_say(passes):
    tests = [
        {
            "interval": "15s",
            "input_series": series(lines),
            "promql_expr_test": [
                {
                    "expr": name,
                    "eval_time": "1m",
                    "exp_samples": [{"labels": labels, "value": value}],
                }
            ],
        }
        for name, (*lines, labels, value) in RECORDED.items()
    ]
    assert "" == passes(tests)


def test_what_a_counter_gained_is_known_over_a_collector_that_began_anew(passes):
    """Under another address its series begin anew, with all that they had."""
    test = {
        "interval": "1m",
        "input_series": series(
            [
                'lost{instance="x", job_id="a"} 100x60 stale',
                'lost{instance="y", job_id="a"} _x70 100x20 130x20',
                'lost{instance="y", job_id="new"} _x100 7x10',
            ]
        ),
        "promql_expr_test": [
            {
                "expr": queries.gained("lost").replace("$__range", "1h"),
                "eval_time": "110m",
                "exp_samples": [
                    {"labels": '{job_id="a"}', "value": 30},
                    {"labels": '{job_id="new"}', "value": 7},
                ],
            }
        ],
    }
    assert "" == passes([test])


def test_a_rule_that_is_wrong_does_not_pass(passes):
    """The two tests above look at what promtool says, and this is what it says of a mistake."""
    case = CASES["RankscopeGpuFailed"]
    expected = {"expr": "ALERTS", "eval_time": case["at"], "exp_samples": []}
    wrong = {
        "interval": "15s",
        "input_series": series(case["fires"]),
        "promql_expr_test": [expected],
    }
    assert "RankscopeGpuFailed" in passes([wrong])
