"""What has no effect, no horizon and asks nobody for an action is an observation, no incident."""

import pickle
from dataclasses import replace

import pytest
from tests.alerts.conftest import START
from tests.alerts.explaining import explain

from rankscope.alerts import observations
from rankscope.alerts.policy import POST_MORTEM, IncidentPolicy
from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary.ids import Job


@pytest.fixture
def tracker():
    return IncidentTracker()


@pytest.fixture
def grows(topology, found, entity_of):
    """Return a function for memory of a trainer that grows; from a score of 1 on it has an end."""

    def make(score=0.5, onset=40.0):
        return found(
            "process.memory_grows", entity_of("process.memory_grows", 1), onset, score=score
        )

    return make


@pytest.fixture
def stands(topology, found):
    """Return a function for a job that stands still, more certainly from 2 on."""

    def make(score, onset=40.0):
        return found("job.stalled", topology.job_entity, onset, score=score)

    return make


def seen(tracker):
    return [(row.kind, row.at - START, row.until) for row in tracker.observations()]


def test_growth_that_ends_nowhere_is_an_observation(evaluated, tracker, grows):
    assert [] == evaluated(60, grows())
    assert {} == tracker.incidents
    assert [("process.memory_grows", 40.0, None)] == seen(tracker)


def test_an_observation_counts_nothing_and_has_no_id(evaluated, tracker, stands):
    evaluated(60, stands(1.0), stepped=40.0)
    evaluated(61, stands(1.0), stepped=40.0)
    assert {} == tracker.losses.now.get(Job("run-1"), {})
    assert "id" not in tracker.observations()[0].document()


def test_growth_with_an_end_in_sight_is_an_incident(evaluated, tracker, grows):
    (opened,) = evaluated(60, grows(1.0))
    assert ("incident.opened", "info") == (opened.kind, opened.incident.severity)
    assert [] == tracker.observations()


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("gpu.row_remap_pending", 1),
        ("gpu.power_limit_low", 1),
        ("host.drift", 0),
        ("switch.trouble", 0),
    ],
)
def test_what_asks_for_an_action_of_its_own_is_an_incident(
    evaluated, found, entity_of, kind, number
):
    (opened,) = evaluated(60, found(kind, entity_of(kind, number), score=1.0))
    assert ("incident.opened", "info") == (opened.kind, opened.incident.severity)


def test_a_clock_that_has_always_been_off_is_an_observation(evaluated, tracker, topology, found):
    host = topology.host_entity("host-a")
    assert [] == evaluated(60, found("host.clock_off", host, score=0.8))
    assert ["host.clock_off"] == [row[0] for row in seen(tracker)]
    (opened,) = evaluated(90, found("host.clock_off", host, 80.0, score=1.0))
    assert ("incident.opened", "info") == (opened.kind, opened.incident.severity)


def test_a_stall_that_names_whom_the_others_wait_for_is_an_incident(evaluated, stands):
    assert [] == evaluated(60, stands(1.0), stepped=40.0)
    (opened,) = evaluated(61, stands(1.5), stepped=40.0)
    assert ("incident.opened", "info") == (opened.kind, opened.incident.severity)


def test_an_observation_that_gets_an_effect_is_an_incident_with_it(evaluated, tracker, stands):
    evaluated(60, stands(1.0), stepped=40.0)
    (opened,) = evaluated(65, stands(2.0), stepped=40.0)
    assert ("incident.opened", "warning") == (opened.kind, opened.incident.severity)
    assert (40.0, 65.0) == (
        opened.incident.opened_at - START,
        opened.incident.detected_at - START,
    )
    assert [(60.0, "observed"), (65.0, "opened")] == [
        (row.at - START, row.kind) for row in opened.incident.timeline
    ]
    assert [] == tracker.observations()


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        pytest.param("job.data_repeated", ["job.data_repeated"], id="it has another reason"),
        pytest.param("job.loss_spike", [], id="it is what the incident is about"),
    ],
)
def test_what_an_incident_does_not_explain_stays_an_observation_beside_it(
    evaluated, tracker, topology, found, kind, kept
):
    job = topology.job_entity
    symptoms = [found(name, job, 40.0, score=2.0) for name in ("job.nonfinite", kind)]
    evaluated(60, *symptoms)
    assert tracker.incidents
    assert kept == [row.kind for row in tracker.observations()]


def test_an_observation_is_kept_after_its_end(evaluated, tracker, grows):
    evaluated(60, grows())
    assert [] == evaluated(95)
    assert [("process.memory_grows", 40.0, START + 60)] == seen(tracker)
    tracker.forget(START + 60 + observations.KEPT_SECONDS)
    assert 1 == len(tracker.observations())
    tracker.forget(START + 61 + observations.KEPT_SECONDS)
    assert [] == tracker.observations()


def test_an_observation_that_returns_goes_on(evaluated, tracker, grows):
    evaluated(60, grows())
    evaluated(95)
    evaluated(200, grows(onset=190.0))
    assert [("process.memory_grows", 40.0, None)] == seen(tracker)


def test_of_a_job_so_many_are_kept(evaluated, tracker, grows, monkeypatch):
    monkeypatch.setattr(observations, "KEPT_OF_A_JOB", 2)
    for begun in (0.0, 2000.0, 4000.0):
        evaluated(begun + 20, grows(onset=begun))
        evaluated(begun + 60)
    assert [4000.0, 2000.0] == [row[1] for row in seen(tracker)]


def test_of_so_many_jobs_some_are_kept(evaluated, tracker, found, lay_out, monkeypatch):
    monkeypatch.setattr(observations, "KEPT_JOBS", 1)
    for number in (1, 2):
        there = lay_out(f"run-{number}")
        slow = found("job.slow", there.job_entity, score=0.9, job=there.job)
        evaluated(60, slow, layout=there)
        evaluated(95, layout=there)
    assert ["run-2"] == [row.job for row in tracker.observations()]


def test_a_snapshot_keeps_observations(evaluated, tracker, grows, stands):
    evaluated(60, grows())
    evaluated(95)
    evaluated(500, stands(1.0, 490.0), stepped=490.0)
    again = pickle.loads(pickle.dumps(tracker))  # noqa: S301  our own bytes
    assert seen(tracker) == seen(again)
    (opened,) = evaluated(510, stands(3.0, 490.0), stepped=490.0, into=again)
    assert (490.0, "incident.opened") == (opened.incident.opened_at - START, opened.kind)


def test_nobody_acts_on_what_they_were_not_shown(evaluated, tracker, grows):
    evaluated(60, grows())
    (followed,) = tracker.of_job(Job("run-1"))
    assert tracker.find(followed.id) is None
    evaluated(95)
    assert tracker.find(followed.id) is None


def test_what_ends_in_an_incident_of_a_wider_scope_was_an_observation(
    evaluated, tracker, topology, found, contended
):
    """It ends without a word: nobody was shown it."""
    slow = found("job.slow", topology.job_entity, score=0.9)
    evaluated(60, slow, found("rank.waits_least", topology.rank_entity(2), score=0.9))
    changes = evaluated(70, *contended())
    assert {"incident.opened"} == {change.kind for change in changes}


class TestSlownessWithoutACause:
    """It is worth a person's time once it has cost what the site says."""

    HOURS = 0.1

    @pytest.fixture
    def tracker(self):
        return IncidentTracker(IncidentPolicy(unnamed_gpu_hours=self.HOURS, unnamed_minutes=5.0))

    @pytest.fixture
    def until_opened(self, evaluated, topology, found):
        """Return a function for the seconds after which slowness of some times is an incident."""

        def opened(times, *beside):
            slow = found("job.slow", topology.job_entity, 0.0, magnitude=times)
            for now in range(10, 4000, 10):
                if evaluated(now, slow, *beside):
                    return now
            return None

        return opened

    def test_small_slowness_is_seen_long_before_it_is_told(self, until_opened, tracker):
        seconds = self.HOURS * 3600 / (4 * (1 - 1 / 1.25))  # 4 ranks, a fifth of their time
        assert seconds <= until_opened(1.25) <= seconds + 20
        (incident,) = tracker.incidents.values()
        assert ("warning", "unknown") == (
            incident.severity,
            incident.root_cause.hypotheses[0].fault,
        )

    def test_much_slowness_is_told_sooner(self, until_opened):
        assert 120 <= until_opened(4.0) <= 140

    def test_what_it_cost_before_it_was_told_is_in_its_cost(self, until_opened, tracker):
        until_opened(1.25)
        (incident,) = tracker.incidents.values()
        assert self.HOURS * 3600 <= incident.impact.gpu_seconds_lost

    @pytest.mark.parametrize(
        ("hours", "minutes", "own_seconds"),
        [
            pytest.param(1.0, 5.0, 300.0, id="few GPUs lose minutes of their own time first"),
            pytest.param(0.2, 5.0, 180.0, id="more lose GPU-hours first"),
            pytest.param(1e-3, 5.0, 60.0, id="many lose them in moments: a minute it is"),
            pytest.param(1.0, 0.0, 0.0, id="a site may want to know at once"),
        ],
    )
    def test_whichever_comes_first(self, topology, found, hours, minutes, own_seconds):
        policy, gpus = IncidentPolicy(hours, minutes), 4
        slow = [found("job.slow", topology.job_entity, 0.0)]
        of = (slow, explain(slow, topology))
        assert policy.is_costly(gpus * own_seconds, gpus, *of)
        assert not own_seconds or not policy.is_costly(gpus * (own_seconds - 1.0), gpus, *of)

    def test_of_a_dead_job_a_minute_is_enough(self, topology, found):
        slow = [found("job.slow", topology.job_entity, 0.0)]
        of = (slow, explain(slow, topology))
        assert [False, True] == [POST_MORTEM.is_costly(4 * s, 4, *of) for s in (59.0, 60.0)]

    @pytest.mark.parametrize(("times", "own_seconds"), [(1.5, 60.0), (1.2, 90.0)])
    def test_much_of_it_that_lies_between_devices_is_told_after_a_minute_s_loss(
        self, until_opened, topology, found, times, own_seconds
    ):
        exchange = found("job.slow_collectives", topology.job_entity, 0.0, magnitude=2.5)
        seconds = own_seconds / (1 - 1 / times)
        assert seconds <= until_opened(times, exchange) <= seconds + 20

    def test_a_named_cause_waits_for_no_cost(self, evaluated, contended):
        (opened,) = evaluated(60, *contended())
        assert "warning" == opened.incident.severity

    def test_what_came_with_a_change_waits_for_no_cost(self, evaluated, topology, found):
        slow = found("job.slow", topology.job_entity, 0.0)
        since = found("job.slow_since_change", topology.job_entity, 0.0)
        assert [] != evaluated(10, slow, since) + evaluated(80, slow, since)

    def test_slightly_slower_loaders_wait_for_their_cost_as_well(
        self, until_opened, found, topology
    ):
        loaders = found("job.data_wait", topology.job_entity, 0.0)
        seconds = self.HOURS * 3600 / (4 * (1 - 1 / 1.1))
        assert seconds <= until_opened(1.1, loaders) <= seconds + 21

    @pytest.mark.parametrize(
        ("times", "kinds"),
        [
            pytest.param(1.3, ["job.data_wait"], id="loaders that cost much"),
            pytest.param(1.1, ["job.gc_pauses", "job.rotating_pauses"], id="what does not pass"),
            pytest.param(1.1, ["job.data_wait", "job.slow_since_change"], id="after a change"),
        ],
    )
    def test_what_else_is_named_is_told_at_once(self, until_opened, found, topology, times, kinds):
        beside = [found(kind, topology.job_entity, 0.0) for kind in kinds]
        assert 10 == until_opened(times, *beside)


class TestClaims:
    """What a process says of others, and nobody could check."""

    @pytest.fixture
    def crashed(self, topology, found):
        """Return a function for what is found of a crash."""

        def make(claimed):
            made = (
                found("job.crashed", topology.job_entity),
                found("rank.first_exit", topology.rank_entity(2)),
            )
            return [replace(one, claimed=claimed) for one in made]

        return make

    def test_they_are_an_observation_and_nothing_acts_on_them(self, evaluated, tracker, crashed):
        assert [] == [
            c for now in range(60, 300) for c in evaluated(now, *crashed(True), stepped=40.0)
        ]
        (followed,) = tracker._open
        assert ("info", "provisional") == (followed.severity, followed.first.cause.status)

    def test_what_was_observed_makes_them_an_incident(self, evaluated, crashed):
        assert [] == [
            c for now in range(60, 80) for c in evaluated(now, *crashed(True), stepped=40.0)
        ]
        (opened,) = evaluated(80, *crashed(False), stepped=40.0)
        assert ("critical", "stable") == (
            opened.incident.severity,
            opened.incident.root_cause.status,
        )


@pytest.fixture
def stall_of_checkpoints(topology, found):
    """Return a function for a checkpoint that takes long, as a symptom of its own beginning."""

    def make(onset):
        return (
            found("job.slow", topology.job_entity, onset, score=2.0),
            found("job.checkpoint_long", topology.job_entity, onset),
        )

    return make


def test_what_a_cause_explains_begins_with_its_own_symptoms(
    evaluated, topology, found, stall_of_checkpoints
):
    """Slight slowness that nothing explained, minutes before, is no part of it."""
    for second in range(60, 72):
        assert [] == evaluated(second, found("job.slow", topology.job_entity, 40.0, score=0.9))
    evaluated(110)
    opened = [
        change for at in range(500, 512) for change in evaluated(at, *stall_of_checkpoints(480.0))
    ]
    first = opened[0].incident
    assert "software.checkpoint_stall" == first.root_cause.hypotheses[0].fault
    assert 480.0 == first.opened_at - START
    assert {480.0} == {row.onset - START for row in first.symptoms}
    assert "observed" == first.timeline[0].kind, "what was seen before is still told"


def test_slowness_without_a_cause_keeps_its_first_onset(evaluated, topology, found):
    """What returns without a reason is one thing, which began when it was first seen."""
    first, again = (
        found("job.slow", topology.job_entity, onset, magnitude=4.0) for onset in (40.0, 480.0)
    )
    for second in range(60, 80):
        evaluated(second, first)
    evaluated(120)
    opened = [change for at in range(500, 1500) for change in evaluated(at, again)]
    assert 40.0 == opened[0].incident.opened_at - START
