"""Cases of two faults at once in one job, of kinds that an operator would tell apart.

The two begin within half a minute of each other, on two hosts where both are a host's.
"""

import dataclasses
from typing import Any, cast

import numpy as np

from ..simulator.faults import FAULTS, inject
from ..simulator.shape import SimulationScenario

APART_SECONDS = 30.0
"""The second fault begins up to so long after the first."""


def with_second(
    kind: str, scenario: SimulationScenario, random: np.random.Generator
) -> SimulationScenario:
    """Return a scenario with a fault with a second one of this kind beside it.

    Raises ScenarioError where its job cannot have it.
    """
    first = dict(scenario.fault or {})
    onset = float(first["onset"]) + float(random.uniform(0.0, APART_SECONDS))
    made = inject(kind, dataclasses.replace(scenario, fault=None), random, onset=onset)
    second = dict(made.fault or {})
    hosts = random.permutation(made.cluster.hosts).tolist()
    for settings in (first, second):
        if _has_host(str(settings["kind"])):
            settings.setdefault("host", hosts.pop())
    return dataclasses.replace(made, fault=first, also=second)


def _has_host(kind: str) -> bool:
    return any(item.name == "host" for item in dataclasses.fields(cast("Any", FAULTS[kind])))
