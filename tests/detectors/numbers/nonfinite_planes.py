"""Planes in which values go non-finite."""

import numpy as np

LOSS = "training.loss|local"
GLOBAL_LOSS = "training.loss|global"
NORM = "training.grad_norm"
LOCAL_NORM = "training.grad_norm|local"
COUNT = "training.nonfinite|grad_local"
SCALE = "training.loss_scale"
BAD = np.inf
"""A NaN that was reported: the grid keeps it as Inf, since NaN there means that nobody reported."""


def losses(ranks=4, steps=60):
    return np.random.default_rng(2).normal(2.0, 0.1, (ranks, steps))


def kinds(findings):
    return [finding.kind for finding in findings]
