"""Isolation forests of scikit-learn's trees: its scores to the digit, at a third of the cost.

`IsolationForest` copies, checks and describes an estimator for each tree, which takes longer than
to grow one of the few vectors that are looked at here. Every number is drawn in the same order.

Reference: Liu, Ting, Zhou, Isolation forest (ICDM 2008).
"""

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats

SAMPLES = 256
"""Vectors that a tree is grown on, at most."""

_MOST = np.iinfo(np.int32).max


def isolation(vectors: Floats, scored: Floats, *, trees: int, seed: int) -> Floats:
    """Return [scored], how quickly a forest grown on `vectors` sets each apart, 0 to 1.

    vectors, scored: [rows, values], all of them numbers. Raises ImportError where scikit-learn is
    not installed.
    """
    import sklearn  # noqa: PLC0415  large, and seldom needed
    from sklearn.tree import ExtraTreeRegressor  # noqa: PLC0415
    from sklearn.utils.random import sample_without_replacement  # noqa: PLC0415

    grown, asked = vectors.astype(np.float32), scored.astype(np.float32)
    count, values = grown.shape
    samples = min(SAMPLES, count)
    random = np.random.RandomState(seed)  # what scikit-learn draws from
    targets = random.uniform(size=count)
    random.seed(seed)
    seeds = random.randint(_MOST, size=trees)
    depth = int(np.ceil(np.log2(max(samples, 2))))
    depths = np.zeros(len(asked))
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for number in seeds:
            weight = None  # each vector once, as where there are no more than a tree takes
            if samples < count:
                random.seed(number)
                sample_without_replacement(values, values, random_state=random)  # of which all are
                chosen = sample_without_replacement(count, samples, random_state=random)
                weight = np.bincount(chosen, minlength=count).astype(np.float64)
            random.seed(number)
            random.seed(random.randint(_MOST))
            tree = ExtraTreeRegressor(max_features=1, max_depth=depth, random_state=random)
            nodes = tree.fit(grown, targets, sample_weight=weight, check_input=False).tree_
            leaves = nodes.apply(asked)
            beyond = _path_length(nodes.n_node_samples)
            depths += nodes.compute_node_depths()[leaves] + beyond[leaves] - 1.0
    longest = trees * _path_length(np.array([samples]))[0]
    share = depths / longest if longest else np.ones(len(depths))
    scores: Floats = 2.0**-share
    return scores


def _path_length(count: NDArray[np.int64]) -> Floats:
    """Return [nodes], how many more splits the vectors in a node would take on average."""
    length = np.zeros(len(count))
    length[count == 2] = 1.0
    several = count > 2
    some = count[several]
    length[several] = 2.0 * (np.log(some - 1.0) + np.euler_gamma) - 2.0 * (some - 1.0) / some
    return length
