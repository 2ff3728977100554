"""Progress of the laboratory: a bar on a terminal, nothing anywhere else."""

import io

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab import phases
from rankscope.lab.simulator import recording, scenarios


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_shown_what_is_being_done():
    out = Terminal()
    with phases.phase("simulating [16 ranks]", out) as report:
        report(0.5)
    assert "simulating [16 ranks]" in out.getvalue()


def test_nothing_is_written_where_there_is_no_terminal():
    out = io.StringIO()
    with phases.phase("simulating", out) as report:
        report(0.5)
    assert "" == out.getvalue()


def test_a_watched_recording_gives_the_same_batches_and_reports_up_to_its_end():
    made = recording.simulate(scenarios.named("crash"), 5)
    shares: list[float] = []
    table, other = SeriesTable(), SeriesTable()
    watched = phases.watched(made, shares.append)
    moments = [at for at, _ in watched.batches(table)]
    assert [at for at, _ in made.batches(other)] == moments
    assert len(moments) == len(shares)
    assert sorted(shares) == shares
    assert 0.9 < shares[-1] <= 1.0
