"""What labels score that were given, not sampled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
from textmix.inference.partition import score_labels
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet

COUNTS = np.random.default_rng(4).poisson(0.6, (14, 9)) * np.random.default_rng(5).integers(1, 4, (14, 1))
COUNTS[3] = 0
LABELS = np.array([2, 0, 2, 1, 1, 1, 1, 3, 0, 2, 2, 2, 3, 1])  # 3 has no words
BETAS = np.linspace(0.1, 2.0, 9)


@pytest.mark.parametrize("beta", [0.3, BETAS], ids=["one β", "a β for each word"])
@pytest.mark.parametrize("factor", [1, 0.37], ids=["whole", "fractions"])
@pytest.mark.parametrize(
    ("prior", "described"),
    [
        (finite_dirichlet(6, 0.4), ("finite", 6, 0.4)),
        (finite_dirichlet(4, np.array([0.2, 0.5, 1.0, 3.0])), ("finite", 4, np.array([0.2, 0.5, 1.0, 3.0]))),
        (dirichlet_process(1.7, 14), ("process", 1.7)),
    ],
    ids=["finite", "clusters differ", "process"],
)
def test_labels_score_their_joint_probability(prior, described, beta, factor):
    scored, word_counts = score_labels(scipy.sparse.csr_array(COUNTS * factor), factor == 1, LABELS, beta, prior)
    labels = np.where(COUNTS.any(axis=1), LABELS, -1)
    expected = reference.log_joint(COUNTS * factor, labels, beta, described)
    assert scored.log_joint == pytest.approx(expected, rel=1e-9)
    assert scored.labels.tolist() == labels.tolist()
    expected_counts = [(COUNTS * factor)[labels == cluster].sum(axis=0) for cluster in range(4)]
    np.testing.assert_allclose(word_counts.toarray(), expected_counts)
    assert (scored.unit == 1.0) == (factor == 1)


def test_no_words_score_nothing():
    nothing = scipy.sparse.csr_array((3, 4), dtype=int)
    scored, _ = score_labels(nothing, True, np.zeros(3, int), 0.1, finite_dirichlet(2, 0.1))
    assert scored.log_joint == 0.0
    assert (scored.labels == -1).all()
