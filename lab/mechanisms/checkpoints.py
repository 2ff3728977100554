"""Checkpoints that stop the training because the storage they go to becomes slow."""

from .contract import FaultMechanism

EVERY_STEPS = 80

SLOW_STORAGE = FaultMechanism(
    name="slow-checkpoint",
    fault="software.checkpoint_stall",
    at="job",
    job={
        "RANKSCOPE_LAB_CHECKPOINT": "{folder}/storage",
        "RANKSCOPE_LAB_CHECKPOINT_STEPS": str(EVERY_STEPS),
    },
    beside=("rankscope.lab.jobs.storage", "{folder}/storage"),
    text="the storage of the checkpoints takes half a MiB a second: rank 0 blocks in write(2)",
)
