"""Suites of simulated test runs: what is simulated to measure the detectors, drawn from a seed.

suites.toml holds the tables (shapes, reporting habits, missing sources, benign variety, suites),
observable.toml what of the telemetry can show a fault. A case is one simulated recording: shape x
fault or none x strength x missing source x reporting habit x seed. The same suite gives the same
cases, whatever faults are added to the simulator beside those it has.

In: tables and a seed. Out: cases to simulate. Imports: vocabulary;
simulator.
"""

from .cases import SuiteCase
from .drawing import draw
from .tables import SUITES, CaseSuite, SuiteError, suite
from .withheld import sources

__all__ = ["SUITES", "CaseSuite", "SuiteCase", "SuiteError", "draw", "sources", "suite"]
