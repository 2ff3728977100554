"""The probe inside the training process: `from rankscope import probe; watch = probe.attach()`.

Promises: never raises into the job, never blocks it, never synchronises a device, never changes
what it computes, imports nothing that the job did not import. Without an agent it drops and
counts; with RANKSCOPE_PROBE=0 every call does nothing.

In: calls of a training loop and hooks in torch. Out: datagrams to the agent. Imports: vocabulary.
"""

from .attaching import attach

__all__ = ["attach"]
