"""The demo: a real collector, two real agents, a real training job, one fault, one answer."""

from .running import run

__all__ = ["run"]
