"""The demo: a real collector, two real agents, a real training job, one fault, one answer.

In: a mechanism. Out: the incident that a real collector makes of a real job. Imports: vocabulary;
jobs, mechanisms.
"""

from .running import run

__all__ = ["run"]
