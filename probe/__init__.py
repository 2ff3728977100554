"""The probe inside the training process: `from rankscope import probe; watch = probe.attach()`.

Promises: never raises into the job, never blocks it, never synchronises a device, never changes
what it computes, imports nothing that the job did not import. Without an agent it drops and
counts; with RANKSCOPE_PROBE=0 every call does nothing.
"""

from .attaching import attach

__all__ = ["attach"]
