"""What stands before and around a line changes neither its values nor whose they are."""

import io
import json
from datetime import UTC, datetime

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import cleaning, exports, prefixes

AT = 1_787_000_000.0
LINE = "{'loss': 2.5, 'grad_norm': 0.5, 'epoch': 0.1}"
STAMP = 1787412142.5
WRITTEN = "2026-08-22T15:22:22.5Z"
BEFORE = [one.example.removesuffix("step 1") for one in prefixes.catalogue("prefix")]


def read(*lines, **more):
    return list(training_logs.read(lines, default_at=AT, **more))


def losses(found):
    return [s.value for one in found for s in one.samples if s.metric == "training.loss"]


@pytest.mark.parametrize("before", BEFORE)
def test_a_line_behind_any_prefix_of_the_table_has_its_values(before):
    assert [2.5] == losses(read(before + LINE))


@pytest.mark.parametrize("prefix", ["[3]<stdout>:", "[1,3]<stdout>:"])
def test_a_launcher_of_mpi_writes_the_rank_and_may_write_the_time(prefix):
    (found,) = read(f"Sat Aug  8 15:22:22 2026{prefix}{LINE}", zone=UTC)
    assert 3 == dict(found.samples[0].attributes)["rank"]
    assert datetime(2026, 8, 8, 15, 22, 22, tzinfo=UTC).timestamp() == found.at


def test_a_list_by_ranks_is_no_log_that_srun_labelled():
    lines = [f"{rank}: [grads_0, grads_1 ...]" for rank in range(4)]
    found = prefixes.LinePrefixes()
    found.learn("\n".join(lines).encode())
    assert prefixes.PrefixReading() == found.read(lines[2])


@pytest.mark.parametrize("outer", ["2026-08-22T15:22:22.5Z ", "\x1b[36m(Worker pid=1)\x1b[0m "])
@pytest.mark.parametrize("inner", ["[rank3]: ", "[1,3]<stdout>:"])
def test_prefixes_may_follow_one_another(outer, inner):
    (found,) = read(outer + inner + LINE)
    assert dict(found.samples[0].attributes)["rank"] == 3


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"log": LINE + "\n", "stream": "stdout", "time": WRITTEN}),
        json.dumps({"labels": {"app": "x"}, "line": LINE, "timestamp": WRITTEN}),
        json.dumps({"line": LINE, "timestamp": "1787412142500000000"}),
        json.dumps({"MESSAGE": LINE, "__REALTIME_TIMESTAMP": "1787412142500000"}),
        f"{WRITTEN} {LINE}",
        f"{WRITTEN} stdout F {LINE}",
    ],
)
def test_the_time_that_a_collector_of_logs_wrote_is_the_lines(line):
    (found,) = read(line)
    assert (STAMP, [2.5]) == (found.at, losses([found]))


@pytest.mark.parametrize(
    "value",
    [
        [
            {"line": LINE, "timestamp": "1787412152500000000", "fields": {}},
            {"line": LINE.replace("2.5", "3.5"), "timestamp": "1787412142500000000"},
        ],
        {
            "status": "success",
            "data": {
                "resultType": "streams",
                "result": [
                    {
                        "stream": {"app": "x"},
                        "values": [
                            ["1787412152500000000", LINE],
                            ["1787412142500000000", LINE.replace("2.5", "3.5")],
                        ],
                    }
                ],
            },
        },
    ],
    ids=["Grafana", "Loki"],
)
def test_an_export_in_one_json_value_is_read_oldest_first(value):
    found = list(training_logs.read(exports.lines(io.BytesIO(json.dumps(value).encode()))))
    assert ([3.5, 2.5], STAMP) == (losses(found), found[0].at)


@pytest.mark.parametrize("data", [b"[INFO] x\ny\n", b"[1, 2\n", b'{"result": 1}\nx\n', b"[]\n"])
def test_a_file_that_is_no_export_is_read_as_it_is(data):
    assert data == b"".join(exports.lines(io.BytesIO(data)))


def test_an_object_that_is_itself_values_is_not_opened():
    (found,) = read('{"step": 3, "loss": 2.5, "message": "ok"}')
    assert [2.5] == losses([found])


def test_what_ray_adds_behind_a_repeated_line_is_read_past():
    line = (
        f"(W pid=1) {LINE} [repeated 7x across cluster] (Ray deduplicates logs by default. Set X)"
    )
    assert [2.5] == losses(read(line))


def test_a_number_before_one_line_alone_is_no_rank():
    lines = ["starting", "going on", "and on", f"3: {LINE}"]
    (found,) = read(*lines)
    assert dict(found.samples[0].attributes)["rank"] == 0
    labelled = [f"3: {line}" for line in lines[:3]]
    (found,) = read(*labelled, f"3: {LINE}")
    assert dict(found.samples[0].attributes)["rank"] == 3


def test_an_error_code_is_no_host():
    text = "EI0002: 2026-08-22 10:00:00 The wait execution of the Notify register times out."
    learnt = prefixes.LinePrefixes()
    learnt.learn(text.encode())
    assert cleaning.clean(text.encode(), learnt).text == text


def test_a_task_before_a_local_rank_is_no_rank():
    learnt = prefixes.LinePrefixes()
    learnt.learn(b"1: [default2]: x\n")
    cleaned = cleaning.clean(b"1: [default2]: x", learnt)
    assert (cleaned.rank, cleaned.local) == (None, 2)


def test_the_host_of_a_prefix_is_known():
    learnt = prefixes.LinePrefixes()
    learnt.learn(b"node107: x\nnode108: y\n")
    assert cleaning.clean(b"node107: x", learnt).host == "node107"


def test_colours_that_lost_their_first_character_are_read_past():
    assert cleaning.clean(b"[36m(Worker pid=1)[0m x").text == "x"


@pytest.mark.parametrize(("line", "text"), [
    ("**Killed**", "Killed"),
    ("`Killed`", "Killed"),
    ("*** Process received signal ***", "*** Process received signal ***"),
    ("**** a heading ****", "**** a heading ****"),
])  # fmt: skip
def test_a_line_in_bold_or_as_code_is_read_without_its_marks(line, text):
    assert cleaning.clean(line.encode()).text == text


HOSTS = [
    ("node-a: going on", "node-a"),
    ("gpu.east: [rank5]: Traceback (most recent call last):", "gpu.east"),
    ("val-loss: 0.25", ""),
    ("grad-norm: nan", ""),
    ("loss: going on", ""),
]


@pytest.mark.parametrize(("line", "host"), HOSTS)
def test_a_host_s_name_before_most_lines_has_a_number_or_a_hyphen_and_no_value_behind(line, host):
    found = prefixes.LinePrefixes()
    found.learn(b"\n".join([line.encode()] * 10))
    assert host == found.read(line).host
