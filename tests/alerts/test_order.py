"""Which incident hides which does not depend on the order in which findings or jobs come."""

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes.engine import explanations
from rankscope.alerts.tracker import IncidentTracker

START = 1_700_000_000.0
QUICK = settings(
    derandomize=True,
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def troubles(lay_out, contended, found):
    """Return the findings of two jobs on one pair of hosts: a cause, its symptoms, and another."""
    rows = []
    for name in ("run-1", "run-2"):
        layout = lay_out(name)
        device = layout.gpu_entity(0)
        rows.append(
            (
                layout,
                [
                    *contended(layout=layout),
                    found("gpu.pcie_slow", device, job=name),
                    found("host.clock_off", layout.host_entity("host-a"), -200.0, job=name),
                    found("rank.waits_least", layout.rank_entity(2), job=name),
                ],
            )
        )
    return rows


@pytest.fixture
def decided(health):
    """Return a function that evaluates jobs for some seconds; it returns what is decided."""

    def decide(seconds):
        tracker = IncidentTracker()
        for now, jobs in enumerate(seconds, start=60):
            for layout, findings in jobs:
                explain = partial(explanations, topology=layout, observed=EVERYTHING)
                tracker.update(layout.job, 0, findings, explain, health(now - 1.0), START + now)
        return {
            (row.root_cause.hypotheses[0].fault, str(row.root_cause.hypotheses[0].entity)): (
                row.status,
                row.severity,
                sorted(row.jobs),
                sorted((s.kind, str(s.entity)) for s in row.symptoms),
            )
            for row in tracker.incidents.values()
        }

    return decide


@QUICK
@given(data=st.data())
def test_incidents_are_the_same_in_any_order_of_findings(troubles, decided, data):
    plain = [troubles] * 12
    mixed = [
        [(layout, data.draw(st.permutations(findings))) for layout, findings in troubles]
        for _ in plain
    ]
    assert decided(plain) == decided(mixed)


@QUICK
@given(orders=st.lists(st.permutations((0, 1)), min_size=12, max_size=12))
def test_incidents_are_the_same_in_any_order_of_jobs(troubles, decided, orders):
    plain = [troubles] * 12
    assert decided(plain) == decided([[troubles[number] for number in order] for order in orders])
