"""Isolation forests give the scores of scikit-learn's own."""

import numpy as np
import pytest

from rankscope.detectors.outliers import forests


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 64, forests.SAMPLES, forests.SAMPLES + 1, 900])
@pytest.mark.parametrize(("trees", "seed"), [(64, 7), (32, 0)])
def test_scores_are_those_of_the_library_to_the_digit(rows, trees, seed):
    ensemble = pytest.importorskip("sklearn.ensemble")
    vectors = np.random.default_rng(rows).normal(size=(rows, 5))
    vectors[0, 0], vectors[:, 4] = 20.0, np.round(vectors[:, 4])  # one far off; equal values
    library = ensemble.IsolationForest(n_estimators=trees, random_state=seed).fit(vectors)
    asked = np.concatenate([vectors[-4:], vectors[:1] + 3.0])
    assert (-library.score_samples(asked)).tolist() == forests.isolation(
        vectors, asked, trees=trees, seed=seed
    ).tolist()


def test_what_is_far_from_the_others_is_set_apart_soonest():
    pytest.importorskip("sklearn")
    vectors = np.random.default_rng(1).normal(size=(40, 3))
    vectors[17] = 9.0
    assert 17 == int(np.argmax(forests.isolation(vectors, vectors, trees=32, seed=1)))
