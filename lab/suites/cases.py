"""One case: a simulated recording and what is drawn for it."""

from dataclasses import dataclass
from typing import Any

from ..simulator.shape import SimulationScenario


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """One recording to simulate and to score.

    `kind` is the simulator's fault and `fault` its id, both None where nothing is wrong.
    `missing` names the source that is not reported ("none": all are), `benign` what healthy jobs do
    that happens beside ("none": nothing). `observable`: the telemetry of this case can show the
    fault, by observable.toml. `second` is the fault id of a second fault at the same time.
    """

    suite: str
    name: str
    kind: str | None
    fault: str | None
    strength: str
    shape: str
    habit: str
    missing: str
    benign: str
    seed: int
    observable: bool
    scenario: SimulationScenario
    second: str | None = None

    def document(self) -> dict[str, Any]:
        """Return what was drawn, ready for JSON; the scenario is left out."""
        return {
            "suite": self.suite,
            "name": self.name,
            "kind": self.kind,
            "fault": self.fault,
            "strength": self.strength,
            "shape": self.shape,
            "habit": self.habit,
            "missing": self.missing,
            "benign": self.benign,
            "seed": self.seed,
            "observable": self.observable,
            "second": self.second,
        }
