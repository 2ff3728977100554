"""What jobs of several partitions blame is one incident, as it is on one collector."""

import copy
from collections import deque
from collections.abc import Sequence
from functools import partial

import pytest
from tests.alerts.explaining import ALL_AT_ONCE

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.lifecycle import IncidentChange
from rankscope.alerts.shared.messages import Message, pack, unpack
from rankscope.alerts.shared.scope import shared_root
from rankscope.alerts.shared.sharing import (
    CORRELATOR,
    REPEAT_SECONDS,
    WAIT_SECONDS,
    PartitionClaims,
)
from rankscope.alerts.tracker import IncidentTracker
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology

START = 1_700_000_000.0


class Partition:
    """A tracker of its own, and what it shows."""

    def __init__(self, number: int) -> None:
        self.tracker, self.sharing = IncidentTracker(ALL_AT_ONCE), PartitionClaims(number)
        self.shown: list[IncidentChange] = []

    @property
    def documents(self) -> dict[str, dict[str, object]]:
        """Return what the store has: the newest document of each incident."""
        return {row.incident.id: row.incident.document() for row in self.shown}

    def pages(self) -> list[tuple[str, str]]:
        return [(row.kind, row.incident.id) for row in self.shown if row.notify]


class Log:
    """Partitions, and what they send each other: given on at once, unless `away`."""

    def __init__(self, evaluated) -> None:
        self.partitions = [Partition(number) for number in range(3)]
        self.away = False
        self.sent: deque[tuple[int, bytes]] = deque()
        self._evaluated = evaluated

    def evaluate(
        self, number: int, now: float, *findings: Finding, layout: JobTopology, **more: float
    ) -> Sequence[IncidentChange]:
        one = self.partitions[number]
        made = self._evaluated(now, *findings, layout=layout, into=one.tracker, **more)
        root_of = partial(shared_root, topology=layout)
        shown = one.sharing.evaluated(one.tracker, layout.job, made, root_of, START + now)
        one.shown += shown
        self.collect(one)
        self.deliver(now)
        return shown

    def collect(self, one: Partition) -> None:
        self.sent += [(number, pack(message)) for number, message in one.sharing.outgoing]
        one.sharing.outgoing.clear()

    def deliver(self, now: float) -> None:
        while self.sent and not self.away:
            number, body = self.sent.popleft()
            self.give(number, unpack(body), now)

    def give(self, number: int, message: Message, now: float) -> None:
        one = self.partitions[number]
        one.shown += one.sharing.take(message, one.tracker, START + now)
        self.collect(one)

    def open(self) -> list[dict[str, object]]:
        every = [row for one in self.partitions for row in one.documents.values()]
        return [row for row in every if row["status"] != "resolved"]


@pytest.fixture
def log(evaluated):
    return Log(evaluated)


@pytest.fixture
def two(lay_out):
    """Return two jobs: the first is in partition 1, the other in partition 2."""
    return lay_out("run-1"), lay_out("run-2")


def test_two_jobs_of_two_partitions_that_blame_one_host_are_one_incident(
    log, two, contended, valid_incident
):
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 62, *contended(layout=other), layout=other)
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]
    assert document["impact"]["ranks"] == 8
    assert document["impact"]["jobs"] == 2
    valid_incident(document)
    assert log.partitions[2].shown == []
    assert [kind for kind, _ in log.partitions[1].pages()] in ([], ["incident.opened"])


def test_in_one_second_too_and_whoever_is_first_in_the_log_keeps_it(log, two, contended):
    one, other = two
    log.away = True
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 60, *contended(layout=other), layout=other)
    assert log.open() == []  # neither is shown before the correlator has answered
    log.away = False
    log.deliver(60.1)
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]


def test_it_ends_when_both_jobs_are_well(log, two, contended):
    one, other = two
    ended = None
    for now in range(60, 200):
        log.evaluate(1, now, *(contended(layout=one) if now < 70 else ()), layout=one)
        log.evaluate(2, now, *(contended(layout=other) if now < 130 else ()), layout=other)
        if ended is None and not log.open():
            ended = now
    assert ended == 159
    (end,) = [row for one in log.partitions for row in one.shown if row.kind == "incident.resolved"]
    assert set(end.incident.jobs) == {"run-1", "run-2"}


def _storage(layout, found):
    mount = Entity("storage", "/data", None, layout.job_entity.ranks)
    return (
        found("job.slow", layout.job_entity, job=layout.job),
        found("job.data_wait", layout.job_entity, job=layout.job),
        found("storage.slow", mount, job=layout.job),
    )


def _switch(layout, found):
    layout.switches.update(dict.fromkeys(layout.hosts, "leaf-1"))
    return (
        found("job.stalled", layout.job_entity, job=layout.job),
        found("switch.trouble", layout.switch_entity("leaf-1"), job=layout.job),
    )


@pytest.mark.parametrize(
    ("trouble", "name"), [(_storage, "/data"), (_switch, "leaf-1")], ids=["storage", "switch"]
)
def test_storage_or_a_switch_under_jobs_of_two_partitions_is_one_incident_whoever_owns_it(
    log, lay_out, found, trouble, name
):
    one, other = (lay_out(f"run-{n}", (f"host-{n}a", f"host-{n}b")) for n in (1, 2))

    def evaluate(seconds):
        for now in seconds:
            log.evaluate(1, now, *trouble(one, found), layout=one)
            log.evaluate(2, now, *trouble(other, found), layout=other)

    evaluate(range(60, 63))
    snapshot = copy.deepcopy(log.partitions[1])
    evaluate(range(63, 75))
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]
    assert document["root_cause"]["hypotheses"][0]["entity"]["id"] == name
    pages = log.partitions[1].pages()
    assert [("incident.opened", document["id"])] == pages[:1]

    # Its owner is killed: the next one begins with the snapshot and reads the same entries again.
    log.partitions[1] = snapshot
    evaluate(range(63, 90))
    assert [document["id"]] == [row["id"] for row in log.open()]
    assert ["run-1", "run-2"] == log.open()[0]["jobs"]
    opened = [identity for kind, identity in log.partitions[1].pages() if kind == "incident.opened"]
    assert [document["id"]] == opened
    assert [] == log.partitions[2].shown


def test_another_root_is_another_incident(log, two, contended):
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 60, *contended(layout=other, host="host-a"), layout=other)
    assert [row["jobs"] for row in log.open()] == [["run-1"], ["run-2"]]


def test_an_incident_that_was_shown_before_it_blamed_the_root_is_explained_by_the_other(
    log, two, contended, found
):
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    slow = found("job.slow", other.job_entity, job=other.job)
    log.evaluate(2, 60, slow, layout=other)
    assert len(log.open()) == 2
    log.evaluate(2, 61, *contended(layout=other), layout=other)
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]
    (ended,) = log.partitions[2].documents.values()
    assert ended["timeline"][-1]["text"] == f"explained by incident {document['id']}"


def test_without_a_correlator_each_shows_its_own_after_a_while(log, two, contended):
    one, other = two
    log.away = True
    for now in range(60, 60 + int(WAIT_SECONDS)):
        log.evaluate(1, now, *contended(layout=one), layout=one)
        log.evaluate(2, now, *contended(layout=other), layout=other)
    assert log.open() == []
    log.evaluate(1, 60 + WAIT_SECONDS, *contended(layout=one), layout=one)
    log.evaluate(2, 60 + WAIT_SECONDS, *contended(layout=other), layout=other)
    assert len(log.open()) == 2
    log.away = False  # it is back: what it missed is in the log
    log.deliver(70)
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]


def test_every_message_may_come_twice(log, two, contended):
    one, other = two
    log.away = True
    for now in range(60, 100):
        log.evaluate(1, now, *contended(layout=one), layout=one)
        log.evaluate(2, now, *(contended(layout=other) if now < 65 else ()), layout=other)
        for number, body in list(log.sent):
            log.sent.append((number, body))
        log.away = False
        log.deliver(now)
        log.away = True
    assert len(log.open()) == 1
    opened = [row for one in log.partitions for row in one.shown if row.kind == "incident.opened"]
    assert len(opened) == 1


def test_what_a_person_has_resolved_stays_quiet_in_the_other_partition(log, two, contended):
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 60, *contended(layout=other), layout=other)
    (document,) = log.open()
    first = log.partitions[1]
    action = PersonAction("resolve", document["id"], START + 61, "ada")
    made = first.tracker.act(action, START + 61)
    first.shown += first.sharing.passed(first.tracker, made, START + 61)
    log.collect(first)
    log.deliver(61)
    for now in range(62, 120):
        log.evaluate(1, now, *contended(layout=one), layout=one)
        log.evaluate(2, now, *contended(layout=other), layout=other)
    assert log.open() == []


def test_a_job_goes_on_alone_when_the_incident_that_it_was_a_part_of_is_gone(log, two, contended):
    """Its partition lost its state with the last snapshot, say."""
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 60, *contended(layout=other), layout=other)
    assert log.partitions[2].shown == []
    for now in range(61, 61 + 150):
        log.evaluate(2, now, *contended(layout=other), layout=other)
    assert [row["jobs"] for row in log.partitions[2].documents.values()] == [["run-2"]]


def test_a_correlator_that_begins_anew_learns_who_has_a_root_from_those_folded_into_it(
    log, two, contended
):
    one, other = two
    log.evaluate(1, 60, *contended(layout=one), layout=one)
    log.evaluate(2, 60, *contended(layout=other), layout=other)
    log.partitions[CORRELATOR].sharing = PartitionClaims(CORRELATOR)
    for now in range(61, 61 + 2 * int(REPEAT_SECONDS)):
        log.evaluate(2, now, *contended(layout=other), layout=other)
        log.evaluate(1, now, *contended(layout=one), layout=one)
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]


def test_seconds_lost_are_those_of_both_jobs_once(log, two, contended):
    one, other = two
    for now in range(60, 90):
        log.evaluate(1, now, *contended(layout=one), layout=one)
    alone = log.partitions[1].tracker.of_job(Job("run-1"))[0].parts[Job("run-1")].lost.copy()
    for now in range(90, 90 + int(REPEAT_SECONDS) + 1):
        log.evaluate(2, now, *contended(60, layout=other), layout=other)
    incident = log.partitions[1].tracker.of_job(Job("run-1"))[0]
    lost = incident.parts[Job("run-2")].lost
    assert 0 < sum(lost.values())
    log.evaluate(1, 121, *contended(layout=one), layout=one)
    least = sum(alone.values()) + sum(lost.values())
    assert incident.document.impact.gpu_seconds_lost >= least > sum(lost.values())


def test_hosts_of_one_rack_that_heat_up_together_are_one_incident_and_later_ones_are_not(
    log, lay_out, found
):
    jobs = [lay_out(f"run-{n}", (f"host-{n}a", f"host-{n}b")) for n in (1, 2, 3)]
    for layout in jobs:
        layout.switches.update(dict.fromkeys(layout.hosts, "leaf-1"))

    def hot(layout, onset):
        host = layout.hosts[0]
        devices = [layout.gpu_entity(rank) for rank in layout.ranks_of_host(host)]
        return (
            found("job.slow", layout.job_entity, onset, job=layout.job),
            *(
                found("rank.slow_compute", layout.rank_entity(rank), onset, job=layout.job)
                for rank in layout.ranks_of_host(host)
            ),
            *(found("gpu.throttled", device, onset, job=layout.job) for device in devices),
        )

    log.evaluate(0, 60, *hot(jobs[0], 40), layout=jobs[0])
    log.evaluate(1, 60, *hot(jobs[1], 42), layout=jobs[1])
    (document,) = log.open()
    assert document["jobs"] == ["run-1", "run-2"]
    for now in range(61, 1000, 9):
        log.evaluate(0, now, *hot(jobs[0], 40), layout=jobs[0])
        log.evaluate(1, now, *hot(jobs[1], 42), layout=jobs[1])
    log.evaluate(2, 1000, *hot(jobs[2], 980), layout=jobs[2])
    assert len(log.open()) == 2
