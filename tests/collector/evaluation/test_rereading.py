"""How much of the journal a start reads again."""

import pytest

from rankscope.collector.evaluation.rereading import reread_seconds
from rankscope.collector.settings.journal import JournalSettings
from rankscope.collector.store.incidents import IncidentPage
from rankscope.vocabulary.times import rfc3339

NOW = 1_772_440_000.0


class Held:
    def __init__(self, status, *minutes):
        self.status = status
        self.rows = [{"opened_at": rfc3339(NOW - 60 * began)} for began in minutes]

    def incidents(self, wanted=None, *, limit=50, cursor=None):
        return IncidentPage(self.rows if wanted.status == self.status else [], None)


@pytest.mark.parametrize(
    ("held", "minutes"),
    [
        (Held("resolved", 5), 20),
        (Held("open", 5, 15), 35),
        (Held("acknowledged", 15), 35),
        (Held("open", 600), 60),
    ],
    ids=["the usual stretch", "before the oldest open", "acknowledged is open too", "bounded"],
)
def test_a_start_reads_back_to_before_what_is_still_open(held, minutes):
    assert reread_seconds(held, JournalSettings(), NOW) == minutes * 60
