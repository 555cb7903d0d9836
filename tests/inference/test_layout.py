"""Statistics are laid out from labels that were checked: kernels write at the places that labels name, unchecked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from textmix.engines.engine import SerialEngine
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import prepare_documents
from textmix.inference.parallel_fit import COLUMNS, ParallelSettings, Saved, fit_parallel
from textmix.inference.progress import Progress
from textmix.inference.sharded import deal_out_counts
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import finite_dirichlet

COUNTS = scipy.sparse.csr_array(np.array([[2, 1, 0], [0, 1, 1], [1, 0, 3], [1, 1, 1]]))


def lay_out(labels, alpha):
    prepared = prepare_documents(COUNTS, 0.1, True)
    model = dirichlet_multinomial(0.1, 3, 1.0, prepared.max_word_total)
    return GibbsState(prepared, np.array(labels, np.int32), model, finite_dirichlet(2, alpha))


@pytest.mark.parametrize("labels", [[0, 1, 2, 0], [0, 1, -2, 0], [0, 2_000_000, 1, 0], [0, 1, 0], [0, 1, 0, 1, 1]])
def test_a_labelled_partition_has_labels_of_its_clusters_only(labels):
    with pytest.raises(ValueError, match="labels"):
        lay_out(labels, np.array([0.1, 0.2]))


def test_labels_within_the_number_of_clusters_are_laid_out():
    assert lay_out([0, 1, -1, 1], np.array([0.1, 0.2])).clusters.sizes.tolist() == [1, 2]
    assert lay_out([0, 7, -1, 7], 0.1).clusters.sizes[:2].tolist() == [1, 2]  # numbers may have gaps


def test_more_clusters_than_the_prior_allows_are_refused():
    with pytest.raises(ValueError, match="3 clusters, but the prior allows 2"):
        lay_out([0, 1, 2, 0], 0.1)


class Kept:
    """A checkpoint that holds these labels."""

    def __init__(self, labels):
        self.labels = [np.array(part, np.int32) for part in labels]

    def load(self):
        return Saved(self.labels, {name: [] for name in COLUMNS})

    def save(self, state):
        pass


@pytest.mark.parametrize("labels", [[[0, 1, 5, 0]], [[0, 1, -2, 0]], [[0, 1, 1]], [[0, 1, 1, 0, 0]], [[0, 1], [1, 0]]])
def test_a_checkpoint_with_labels_that_do_not_fit_is_refused(labels):
    settings = ParallelSettings(2, 0.0, True)
    arguments = (deal_out_counts(COUNTS, 0.1, True), 2, 0.1, finite_dirichlet(2, 0.1), settings, 0)
    with pytest.raises(ValueError, match="labels"):
        fit_parallel(*arguments, SerialEngine(), Progress(shown=False), Kept(labels))
