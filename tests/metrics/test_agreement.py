"""Scores against known labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from textmix.metrics import agreement
from textmix.metrics.comparison import SCORES, SHOWN_SCORES

NAMES = [score.name for score in SCORES if score.name != "entropy"]  # 1 for the same partition


def test_the_same_partition_under_other_names_scores_one():
    scores = agreement(["a", "a", "b", "c"], [2, 2, 0, 1])
    assert all(scores[name] == pytest.approx(1.0) for name in NAMES)
    assert (scores["n_documents"], scores["n_labels"], scores["n_clusters"]) == (4, 3, 3)


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    known, found = rng.integers(4, size=50), rng.integers(6, size=50)
    scores = agreement(known, found)
    geometric = normalized_mutual_info_score(known, found, average_method="geometric")
    assert scores["nmi_geometric"] == pytest.approx(geometric)
    assert scores["nmi_arithmetic"] == pytest.approx(normalized_mutual_info_score(known, found))
    assert scores["ari"] == pytest.approx(adjusted_rand_score(known, found))


def test_geometric_nmi_is_the_root_of_homogeneity_times_completeness():
    scores = agreement([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 2, 3])
    product = scores["homogeneity"] * scores["completeness"]
    assert scores["nmi_geometric"] == pytest.approx(math.sqrt(product))
    assert scores["nmi_geometric"] != pytest.approx(scores["nmi_arithmetic"], abs=1e-6)


def test_texts_without_words_or_label_are_left_out_and_counted():
    full = agreement(["a", "a", "b", "b"], [0, 0, 1, 0])
    mixed = agreement(["a", "a", "b", "b", "a", "", None, float("nan"), ""], [0, 0, 1, 0, -1, 0, 1, 1, -1])
    assert {name: mixed[name] for name in NAMES} == {name: full[name] for name in NAMES}
    assert (mixed["n_without_words"], mixed["n_without_label"], mixed["n_documents"]) == (2, 3, 4)


def test_texts_alone_in_their_cluster_count():
    assert agreement(["a", "a", "a"], [0, 1, 2])["n_documents"] == 3
    assert agreement(["a", "a", "b", "b"], [0, 1, 2, 3])["completeness"] == pytest.approx(0.5)


def test_with_nothing_left_the_scores_are_nan():
    scores = agreement(["a", ""], [-1, 0])
    assert all(math.isnan(scores[name]) for name in NAMES)
    assert scores["n_documents"] == 0


def test_every_score_that_is_shown_is_explained():
    assert {score.name for score in SHOWN_SCORES if score.meaning} == {score.name for score in SCORES if score.title}
    assert agreement(["a"], [0]).keys() >= {score.name for score in SCORES}
    assert len({score.name for score in SCORES}) == len(SCORES)


def test_different_numbers_of_labels_are_refused():
    with pytest.raises(ValueError, match="labels_true has 2 labels"):
        agreement(["a", "b"], [0, 1, 1])
