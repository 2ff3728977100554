"""The reader of Flight Recorder dumps: which it takes, what leaves, whom it asks for one."""

import os
import pickle
from contextlib import ExitStack

import pytest
from tests import serving
from tests.formats.flight_recorder.recorder import dump, fields, operation
from tests.formats.flight_recorder.test_debug_server import page

from rankscope.agent.collectives.progress import StepProgress
from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.readers.flight_recorder import FlightRecorderReader
from rankscope.agent.settings import AgentSettings
from rankscope.agent.training_logs import LogBatch
from rankscope.vocabulary import operations
from rankscope.vocabulary.groups import world
from rankscope.vocabulary.samples import Sample, attributes

WRITTEN = 1_700_000_000.0


@pytest.fixture
def prefix(ranks, tmp_path):
    """Return what the names of the dumps of two ranks begin with."""
    path = tmp_path / "dumps"
    path.mkdir()
    for rank in (0, 1):
        pid = ranks.add(
            rank,
            TORCH_FR_DUMP_TEMP_FILE=f"{path}/fr_",
            TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"{path}/ask_",
        )
        (ranks.proc / str(pid) / "root").symlink_to("/")
    return path / "fr_"


@pytest.fixture
def progress(delivered):
    return StepProgress(delivered)


@pytest.fixture
def reader(ranks, delivered, progress):
    def make(**keys):
        chosen = AgentSettings.model_validate({"flight_recorder": keys})
        return FlightRecorderReader(
            settings=chosen.flight_recorder,
            deliver=delivered,
            still_since=progress.still_since,
            health=delivered.health,
            period=5.0,
            processes=RankProcesses(ranks.proc),
        )

    return make


def write(prefix, rank, body, at=WRITTEN):
    path = prefix.with_name(f"{prefix.name}{rank}")
    path.write_bytes(body)
    os.utime(path, (at, at))
    return path


def refused(delivered, reason):
    return delivered.health.counted("collective_source_failures", "flight_recorder", reason)


def test_a_dump_says_how_far_its_rank_is_when_it_was_written(prefix, reader, delivered):
    one = reader()
    write(prefix, 0, dump(8, 7, [operation(8)]))
    write(prefix, 1, dump(7, 7))
    one.turn(WRITTEN + 5)
    assert {0: 8, 1: 7} == delivered.values("collective.enqueued")
    assert {0: 7, 1: 7} == delivered.values("collective.completed")
    assert {"all_reduce": 8} == delivered.values("collective.launches", "op")
    assert {world(4).name: 1.0} == delivered.values("collective.group.info", "group")
    event, single = delivered.events()
    assert ("collective.timeout", 0) == (event["signature"], event["rank"])
    assert "all_reduce 8 of default_pg open for" in event["text"]
    assert (0, world(4).name) == (single["rank"], single["group"])
    (stands,) = operations.decode(single["text"])
    assert ("all_reduce", 8, None) == (stands.op, stands.sequence, stands.completed_at)
    newest = max(sample.at for batch in delivered.batches for sample in batch.samples)
    assert newest == pytest.approx(WRITTEN)


def test_a_dump_is_read_once_and_again_when_it_was_written_anew(prefix, reader, delivered):
    one = reader()
    write(prefix, 0, dump(8, 7))
    one.turn(WRITTEN + 5)
    one.turn(WRITTEN + 10)
    assert 1 == len(delivered.batches)
    write(prefix, 0, dump(9, 8), at=WRITTEN + 60)
    one.turn(WRITTEN + 65)
    assert {0: 9} == delivered.values("collective.enqueued")


def test_a_dump_that_is_being_written_waits(prefix, reader, delivered):
    write(prefix, 0, dump(8, 7), at=WRITTEN)
    one = reader()
    one.turn(WRITTEN + 0.5)
    assert not delivered.batches
    one.turn(WRITTEN + 5)
    assert delivered.batches


def test_dumps_of_this_node_that_differ_are_compared(prefix, reader, delivered):
    write(prefix, 0, dump(8, 7, [operation(8)]))
    write(prefix, 1, dump(8, 7, [operation(8, "broadcast")]))
    reader().turn(WRITTEN + 5)
    assert {"all_reduce": 8, "broadcast": 8} == delivered.values("collective.launches", "op")


class _Hostile:
    def __reduce__(self):
        return os.system, ("touch /tmp/must-never-be",)


@pytest.mark.parametrize(
    "body",
    [b"", b"\x80\x04", pickle.dumps(_Hostile()), b"\x80\x04" + b"]" * 9_000_000 + b"."],
    ids=["empty", "torn", "callable", "many containers"],
)
def test_what_is_no_dump_is_refused_and_counted(body, prefix, reader, delivered):
    write(prefix, 0, body)
    reader().turn(WRITTEN + 5)
    assert not delivered.batches
    assert 1 == refused(delivered, "malformed")


def test_links_and_large_files_are_refused(prefix, reader, delivered, tmp_path):
    other = write(tmp_path / "other_", 0, dump(8, 7))
    prefix.with_name(f"{prefix.name}0").symlink_to(other)
    write(prefix, 1, pickle.dumps(fields(8, 7) | {"padding": "x" * 8192}))
    reader(max_bytes=4096).turn(WRITTEN + 5)
    assert not delivered.batches
    assert 1 == refused(delivered, "too_large")


def test_a_folder_of_the_settings_needs_no_process(reader, delivered, tmp_path):
    write(tmp_path / "trace_rank_", 3, dump(8, 7))
    folders = [{"path": str(tmp_path), "job": "run-9"}]
    reader(follow=False, folders=folders).turn(WRITTEN + 5)
    assert {3: 8} == delivered.values("collective.enqueued")
    assert "run-9" == delivered.batches[0].job


def moved(progress, at, step):
    labels = attributes({"rank": 0, "source": "log"})
    progress(LogBatch("run-7", 0, [Sample("training.step", step, at, labels)], []))


@pytest.fixture
def pipes(prefix):
    """Return the reading ends of two processes' pipes."""
    found = []
    for rank in (0, 1):
        path = prefix.with_name(f"ask_{rank}.pipe")
        os.mkfifo(path)
        found.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    yield found
    for one in found:
        os.close(one)


def asked(pipes):
    return [len(os.read(one, 100)) for one in pipes]


def test_a_job_that_stands_still_is_asked_once_where_that_is_allowed(
    reader, delivered, progress, pipes
):
    one = reader(ask=True)
    for step in range(3):
        moved(progress, WRITTEN + step, step)
    one.turn(WRITTEN + 30)
    assert [0, 0] == asked(pipes)
    one.turn(WRITTEN + 70)
    one.turn(WRITTEN + 2000)
    assert [1, 1] == asked(pipes)
    assert 2 == delivered.health.counted("flight_recorder_requests")


def test_nobody_is_asked_by_default(reader, progress, pipes):
    one = reader()
    for step in range(3):
        moved(progress, WRITTEN + step, step)
    one.turn(WRITTEN + 500)
    assert [0, 0] == asked(pipes)


def test_a_second_standstill_is_asked_about_no_sooner_than_ten_minutes_later(
    reader, progress, pipes
):
    one = reader(ask=True)
    for step in range(3):
        moved(progress, WRITTEN + step, step)
    one.turn(WRITTEN + 70)
    moved(progress, WRITTEN + 100, 4)
    one.turn(WRITTEN + 200)
    assert [1, 1] == asked(pipes)
    one.turn(WRITTEN + 700)
    assert [1, 1] == asked(pipes)


def test_a_pipe_that_is_none_is_not_written_to(prefix, reader, delivered, progress):
    for rank in (0, 1):
        prefix.with_name(f"ask_{rank}.pipe").write_text("")
    one = reader(ask=True)
    for step in range(3):
        moved(progress, WRITTEN + step, step)
    one.turn(WRITTEN + 70)
    assert 2 == refused(delivered, "foreign_pipe")
    assert "" == prefix.with_name("ask_0.pipe").read_text()


def test_switched_off_it_says_so(reader):
    supported, reason = reader(follow=False).supported()
    assert not supported
    assert "flight_recorder.follow is off" in reason


@pytest.fixture
def served():
    """Return a function that serves a page as torch's debug server does; it gives the address."""
    with ExitStack() as closing:

        def serve(body, status=200):
            def answer(request):
                found = status if request.path == "/fr_trace_json" else 404
                return serving.Answer(body.encode(), status=found)

            return closing.enter_context(serving.served(answer)).removeprefix("http://")

        yield serve


def stand_still(one, progress):
    for step in range(3):
        moved(progress, WRITTEN + step, step)
    one.turn(WRITTEN + 70)


def test_the_debug_server_of_a_job_that_stands_still_shows_all_ranks(
    reader, delivered, progress, pipes, served
):
    shown = page(fields(8, 7, [operation(8)]), fields(7, 7))
    stand_still(reader(ask=True, debug_server=served(shown)), progress)
    assert {0: 8, 1: 7} == delivered.values("collective.enqueued")
    assert 3 == delivered.health.counted("flight_recorder_requests")
    assert [1, 1] == asked(pipes)


@pytest.mark.parametrize(("body", "status"), [("<title>x</title>", 200), (page(), 500)])
@pytest.mark.usefixtures("pipes")
def test_whatever_else_listens_there_is_no_failure(
    reader, delivered, progress, served, body, status
):
    stand_still(reader(ask=True, debug_server=served(body, status)), progress)
    assert {} == delivered.values("collective.enqueued")
    assert 0 == refused(delivered, "server")
