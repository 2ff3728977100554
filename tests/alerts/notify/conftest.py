"""An incident as receivers get it: a switch that stopped a job of 64 ranks."""

from collections.abc import Callable
from typing import Any

import pytest

from rankscope.alerts.ports import OutboxNotice
from rankscope.vocabulary import entities
from rankscope.vocabulary.ids import Fault, IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Hypothesis,
    Impact,
    Incident,
    NextCheck,
    RecommendedAction,
    RootCause,
    Symptom,
    UnknownScore,
)
from rankscope.vocabulary.ranks import RankSet

AT = 1_700_000_000.0


@pytest.fixture
def new_document() -> Callable[..., dict[str, Any]]:
    """Return a function that makes an incident document."""

    def make(
        *,
        status: str = "open",
        severity: str = "critical",
        fault: str = "network.switch",
        name: str = "leaf-3",
        jobs: tuple[str, ...] = ("run-1",),
        identity: str = "a1",
        summary: str = "Switch fault: switch leaf-3; 64 ranks wait in all_reduce for 31 s",
    ) -> dict[str, Any]:
        switch = entities.Entity("switch", name, None, RankSet(range(64)))
        drain = RecommendedAction(
            "now", f"drain the hosts under {name}", "scontrol update state=drain"
        )
        causes = (
            Hypothesis(
                1, Fault(fault), switch, 4.2, 0.93, "medium", (), (drain,), "docs/runbooks/x.md"
            ),
            Hypothesis(
                2, Fault("network.congestion"), entities.job("run-1"), 1.2, 0.04, "low", (), (), ""
            ),
        )
        check = NextCheck("read the uplinks' counters", "ibqueryerrors", (Fault("network.switch"),))
        return Incident(
            id=IncidentId(identity.ljust(20, "0")),
            jobs=jobs,
            attempt=2,
            cluster="c1",
            status=status,  # type: ignore[arg-type]
            severity=severity,  # type: ignore[arg-type]
            opened_at=AT,
            detected_at=AT + 5,
            updated_at=AT + 5,
            resolved_at=AT + 600 if status == "resolved" else None,
            summary=summary,
            symptoms=(Symptom("job.slow", switch, AT, 1.5, "stragglers", "slow"),),
            root_cause=RootCause(
                "stable",
                "e",
                "1",
                causes,
                UnknownScore(0.1, ()),
                (check,),
                DataQuality((), 0.0, 0.8),
            ),
            impact=Impact(64, 8, None, 19_000.0),
        ).document()

    return make


@pytest.fixture
def new_notice(new_document) -> Callable[..., OutboxNotice]:
    """Return a function that makes a notice of a happening, with what new_document takes."""

    def make(word: str = "opened", **more: Any) -> OutboxNotice:
        statuses = {"resolved": "resolved", "acknowledged": "acknowledged"}
        document = new_document(status=statuses.get(word, "open"), **more)
        return OutboxNotice(
            f"incident.{word}", AT + 5, document, id="msg_1", console="https://rankscope.example"
        )

    return make


@pytest.fixture
def digest(new_document) -> OutboxNotice:
    """Return a digest of four incidents, of which two are described."""
    counts = {"open": {"critical": 1, "warning": 2}, "resolved": {"critical": 1}}
    listed = [new_document(), new_document(identity="b2", severity="warning")]
    return OutboxNotice(
        "digest",
        AT + 60,
        {"counts": counts, "happenings": ["incident.opened"], "incidents": listed},
        id="msg_2",
        console="https://rankscope.example/",
        stands_for=12,
        since=AT,
    )
