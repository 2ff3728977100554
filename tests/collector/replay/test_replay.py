"""Replay: the same calls as live, and the same bytes on every run."""

import functools
import json
from dataclasses import replace

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from bench.stepped import SteppedStages
from rankscope.alerts.actions import PersonAction
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.recordings.otlp_lines import RecordingError
from rankscope.collector.replay.replay import ReplayRun, as_line
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats.otlp import encode
from rankscope.vocabulary.ids import IncidentId
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource


@pytest.fixture
def new_replay(pipeline):
    """Return a function that makes a replay whose defects are raised."""

    def failed(_stage, error):
        raise error

    return functools.partial(ReplayRun, pipeline=pipeline, warn=lambda _: None, failed=failed)


MOMENTS = st.lists(
    st.tuples(st.floats(0, 3), st.sampled_from(["metrics", "logs", "idle", "two", "back"])),
    min_size=1,
    max_size=25,
)


class TestJournal:
    # The fixtures are used as makers only: every example builds its own parts.
    @hypothesis.settings(
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,
            hypothesis.HealthCheck.too_slow,
        ],
        deadline=None,
        max_examples=examples(50),
    )
    @given(moments=MOMENTS)
    def test_a_replay_of_the_journal_makes_the_calls_that_were_made_live(
        self, tmp_path_factory, pipeline, sink, clock, metrics_body, logs_body, new_replay, moments
    ):
        data = tmp_path_factory.mktemp("data")
        live, sink, clock = type(pipeline)(), type(sink)(), replace(clock)
        stages = SteppedStages(
            pipeline=live,
            journal=FileJournal(data / "journal", JournalSettings()),
            decisions=FileJournal(data / "journal" / "evaluation", JournalSettings()),
            sink=sink,
            clock=clock,
            health=CollectorHealth(),
        )
        stages.recover()
        for pause, what in moments:
            clock.at += pause if what != "back" else -pause
            if what in ("metrics", "two"):
                stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(clock.at)))
            if what in ("logs", "two"):
                stages.submit(Payload(PayloadKind.LOGS_PROTOBUF, logs_body("gpu.fault")))
            stages.step()
        stages.stop()

        again = type(pipeline)()
        documents = new_replay(pipeline=again).run(data)
        assert again.calls == live.calls
        last = {change.incident.id: change.incident for change, _ in sink.committed}
        stored = sorted(last.values(), key=lambda row: (row.opened_at, row.id))
        assert [as_line(row) for row in documents] == [as_line(row.document()) for row in stored]

    def test_a_folder_a_data_folder_and_a_running_collectors_journal_are_all_taken(
        self, tmp_path, pipeline, clock, metrics_body, new_replay, sink, health, decisions
    ):
        journal = FileJournal(tmp_path / "journal", JournalSettings())
        stages = SteppedStages(
            pipeline=pipeline,
            journal=journal,
            decisions=decisions,
            sink=sink,
            clock=clock,
            health=health,
        )
        stages.recover()
        stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
        stages.step()
        for place in (tmp_path, tmp_path / "journal"):
            fresh = type(pipeline)()
            new_replay(pipeline=fresh).run(place)
            assert fresh.calls == pipeline.calls
        stages.stop()

    def test_a_damaged_journal_is_an_error_that_names_the_place(
        self, tmp_path, new_replay, clock, metrics_body, pipeline, sink, health, decisions
    ):
        journal = FileJournal(tmp_path, JournalSettings())
        stages = SteppedStages(
            pipeline=pipeline,
            journal=journal,
            decisions=decisions,
            sink=sink,
            clock=clock,
            health=health,
        )
        stages.recover()
        for _ in range(3):
            stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, metrics_body(1.0)))
        stages.step()
        stages.stop()
        (file,) = tmp_path.glob("*.seg")
        data = bytearray(file.read_bytes())
        data[40] ^= 0xFF
        file.write_bytes(data)
        with pytest.raises(RecordingError, match=file.name):
            new_replay().run(tmp_path)


class TestLines:
    def metrics(self, at, host="a", value=1.0):
        return encode.metrics_json(
            [(TelemetryResource(host=host), [Sample("training.step", value, at)])]
        )

    def test_seconds_are_judged_as_event_time_passes_and_thirty_more_at_the_end(
        self, tmp_path, pipeline, new_replay
    ):
        lines = [self.metrics(100.5), self.metrics(101.25), self.metrics(103.0)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
        new_replay().run(tmp_path / "a.jsonl")
        calls = [(call[0], call[1]) for call in pipeline.calls]
        assert calls[:6] == [
            ("metrics", 100.5),
            ("evaluate", 101.0),
            ("metrics", 101.25),
            ("evaluate", 102.0),
            ("evaluate", 103.0),
            ("metrics", 103.0),
        ]
        assert calls[6:] == [("evaluate", float(at)) for at in range(104, 134)]

    def test_events_move_time_like_samples(self, tmp_path, pipeline, new_replay):
        resource = TelemetryResource(host="a")
        event = encode.logs_json([(resource, [Event("gpu.fault", 104.5, {}, resource)])])
        (tmp_path / "a.jsonl").write_text(f"{self.metrics(100.5)}\n{event}\n")
        new_replay().run(tmp_path)
        assert ("events", 104.5) in [(call[0], call[1]) for call in pipeline.calls]

    def test_a_host_an_hour_ahead_is_applied_at_the_time_of_the_others(
        self, tmp_path, pipeline, new_replay
    ):
        lines = [
            self.metrics(at + skew, host)
            for at in (100.5, 101.5, 102.5)
            for host, skew in (("a", 0.0), ("b", 0.0), ("c", 3600.0))
        ]
        (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
        new_replay().run(tmp_path)
        assert max(call[1] for call in pipeline.calls) == 132.0
        assert len([call for call in pipeline.calls if call[0] == "metrics"]) == 9

    def test_two_runs_give_the_same_bytes(self, tmp_path, pipeline, new_replay):
        (tmp_path / "a.jsonl").write_text("".join(f"{self.metrics(100 + n)}\n" for n in range(9)))
        runs = []
        for _ in range(2):
            documents = new_replay(pipeline=type(pipeline)()).run(tmp_path)
            runs.append([as_line(document) for document in documents])
        assert runs[0] == runs[1]
        assert runs[0]

    def test_documents_are_ordered_by_onset_then_id(self, tmp_path, new_replay):
        (tmp_path / "a.jsonl").write_text("".join(f"{self.metrics(100 + n)}\n" for n in range(9)))
        rows = [(row["opened_at"], row["id"]) for row in new_replay().run(tmp_path)]
        assert rows == sorted(rows)

    def test_unreadable_json_names_file_and_line(self, tmp_path, new_replay):
        broken = self.metrics(1.0)[:-5]
        (tmp_path / "a.jsonl").write_text(f"{self.metrics(1.0)}\n{broken}\n{self.metrics(2.0)}\n")
        with pytest.raises(RecordingError, match=r"a\.jsonl:2: not JSON: .* at column \d+$"):
            new_replay().run(tmp_path)

    def test_a_cut_off_last_line_is_no_error(self, tmp_path, new_replay, pipeline):
        (tmp_path / "a.jsonl").write_text(f"{self.metrics(1.0)}\n{self.metrics(2.0)[:-5]}")
        warned: list[str] = []
        new_replay(warn=warned.append).run(tmp_path)
        assert len([call for call in pipeline.calls if call[0] == "metrics"]) == 1
        assert len(warned) == 1

    @pytest.mark.parametrize("place", ["missing", "empty"])
    def test_nothing_to_replay_is_an_error(self, tmp_path, new_replay, place):
        (tmp_path / "empty").mkdir()
        with pytest.raises(RecordingError, match=place):
            new_replay().run(tmp_path / place)


def test_a_document_is_as_line_as_one_line_with_its_own_order_of_keys():
    assert as_line({"b": 1, "a": "é"}) == '{"b": 1, "a": "é"}'
    assert json.loads(as_line({"b": "x\ny"})) == {"b": "x\ny"}


class TestHistory:
    """Events older than everything else are not what time it is."""

    def metrics(self, at):
        return encode.metrics_json(
            [(TelemetryResource(host="a"), [Sample("training.step", 1.0, at)])]
        )

    def event(self, at):
        resource = TelemetryResource(host="a")
        return encode.logs_json([(resource, [Event("gpu.fault", at, {}, resource)])])

    def calls(self, tmp_path, pipeline, new_replay, *lines):
        (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
        new_replay().run(tmp_path)
        return [(call[0], call[1]) for call in pipeline.calls]

    def test_a_kernel_log_line_of_an_hour_ago_does_not_start_the_clock(
        self, tmp_path, pipeline, new_replay
    ):
        calls = self.calls(tmp_path, pipeline, new_replay, self.event(1000.5), self.metrics(4600.5))
        assert calls[:3] == [("metrics", 4600.5), ("events", 4600.5), ("evaluate", 4601.0)]

    def test_an_event_shortly_before_the_first_samples_does(self, tmp_path, pipeline, new_replay):
        calls = self.calls(tmp_path, pipeline, new_replay, self.event(99.5), self.metrics(100.5))
        assert calls[:3] == [("events", 99.5), ("evaluate", 100.0), ("metrics", 100.5)]

    def test_a_recording_of_events_alone_goes_by_them(self, tmp_path, pipeline, new_replay):
        calls = self.calls(tmp_path, pipeline, new_replay, self.event(100.5), self.event(102.5))
        assert calls[0] == ("events", 100.5)
        assert ("events", 102.5) in calls


class TestActions:
    def test_a_replay_repeats_what_people_did_and_can_leave_it_out(
        self, tmp_path, pipeline, new_replay, metrics_body
    ):
        entered = RecordedAction.new(
            PersonAction("resolve", IncidentId("a1"), 0.0, "ada", {"note": "done"})
        )
        journal = FileJournal(tmp_path, JournalSettings())
        journal.write(
            [
                JournalEntry(
                    PayloadKind.METRICS_PROTOBUF, 1_700_000_000_500_000_000, metrics_body(1.0)
                ),
                JournalEntry(PayloadKind.ACTION, 1_700_000_002_500_000_000, entered.pack()),
                JournalEntry(
                    PayloadKind.METRICS_PROTOBUF, 1_700_000_004_500_000_000, metrics_body(1.0)
                ),
            ]
        )
        journal.close()
        new_replay().run(tmp_path)
        with_actions, pipeline.calls = pipeline.calls, []
        pipeline.table = pipeline.table.alike()
        new_replay(ignore_actions=True).run(tmp_path)
        done = ("act", 1_700_000_002.5, "resolve", "a1")
        assert done in with_actions
        assert [call for call in with_actions if call != done] == pipeline.calls
