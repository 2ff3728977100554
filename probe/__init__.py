"""The guest inside the training process: `from rankscope import probe; watch = probe.attach()`.

Promises: never raises into the job, never blocks it, never synchronises a device, never changes
what it computes, imports nothing that the job did not import. Refuses to be needed: without an
agent it drops and counts, with RANKSCOPE_PROBE=0 every call is nothing.
"""

from .attaching import attach

__all__ = ["attach"]
