"""What partitions send each other comes back as it was; what is none of it is refused."""

import math

import pytest

from rankscope.alerts.affected_job import JobHealth
from rankscope.alerts.shared.messages import (
    ClaimAnswer,
    IncidentPart,
    MessageError,
    RootClaim,
    pack,
    unpack,
)
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import IncidentId, Job
from rankscope.vocabulary.incidents import Symptom
from rankscope.vocabulary.ranks import RankSet

ONE, OTHER = IncidentId("one"), IncidentId("other")
SYMPTOM = Symptom(
    kind="job.slow",
    entity=Entity("job", "run-1", None, RankSet(range(8))),
    onset=12.5,
    magnitude=1.3,
    detector="by-hand",
    text="slow",
)
HEALTH = JobHealth(8, 2, None, 0, -math.inf, 0.5)


@pytest.mark.parametrize(
    "message",
    [
        RootClaim(ONE, 3, "switch\0\0network.switch\0leaf", 1.0, 2.0, None, 0),
        RootClaim(ONE, 3, "host\0c\0host.lost\0a", 1.0, 2.0, OTHER, 1, ended=True, by_person=True),
        ClaimAnswer(ONE, "root", OTHER, 2),
        IncidentPart(
            into=ONE,
            job=Job("run-1"),
            attempt=0,
            opened_at=1.0,
            health=HEALTH,
            symptoms=(SYMPTOM,),
            last_active=9.0,
            slowdown=None,
            lost=((1_699_228_800, 3.5),),
            stopped=True,
            severity="warning",
            over=False,
            at=9.0,
        ),
    ],
)
def test_a_message_comes_back_as_it_was(message):
    assert unpack(pack(message)) == message


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"what": "claim"}', b'{"what": "else"}'])
def test_other_bytes_are_refused(body):
    with pytest.raises(MessageError):
        unpack(body)
