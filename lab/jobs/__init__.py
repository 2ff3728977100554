"""Small real training jobs: data-parallel, several processes, with hooks to go wrong on demand.

Each rank is started as any launcher would start it, with RANK, LOCAL_RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT in the environment: `python -m rankscope.lab.jobs.numpy_trainer`, or
the torch one under torchrun.

In: the environment of a launcher, an order to go wrong. Out: steps of a training job. Imports:
probe; mechanisms.
"""
