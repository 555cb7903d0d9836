"""Probabilities by the votes of the runs, against the model of the second step written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from textmix.inference.consensus import AGREED_ALPHA, MAX_AGREED
from textmix.inference.votes import Votes, prefer_labels

BETA, DEPENDENCE = 0.7, 0.2


@pytest.fixture
def votes() -> Votes:
    rng = np.random.default_rng(0)
    found = rng.integers(4, size=30).astype(np.int32)
    runs = np.where(rng.random((6, 30)) < 0.8, found, rng.integers(5, size=(6, 30))).astype(np.int32)
    runs[rng.random(runs.shape) < 0.2] = -1
    runs[:, 7] = -1  # no run has seen it
    found[9] = -1  # no words
    return Votes(np.arange(30), runs, found, BETA)


def expected_row(votes: Votes, document: int) -> np.ndarray:
    """p(z | votes of a document, all others), to the power DEPENDENCE, the last being a new cluster's."""
    others = [d for d in votes.documents.tolist() if d != document]
    columns = [(run, label) for run in range(len(votes.runs)) for label in range(votes.runs[run].max() + 1)]
    # columns that documents without a label alone have do not count
    columns = [c for c in columns if any(votes.runs[c[0], d] == c[1] for d in votes.documents)]
    own = [(run, label) for run, label in enumerate(votes.runs[:, document]) if label >= 0]
    n_columns = sum(int(votes.runs[:, votes.documents][run].max()) + 1 for run in range(len(votes.runs)))
    clusters = sorted(set(votes.found[votes.documents].tolist()))
    logs = []
    for cluster in clusters:
        members = [d for d in others if votes.found[d] == cluster]
        counts = {c: sum(votes.runs[c[0], d] == c[1] for d in members) for c in columns}
        total = sum(counts.values()) + n_columns * BETA
        log = np.log(len(members) + AGREED_ALPHA) if members else -np.inf
        log += sum(np.log(counts[c] + BETA) for c in own)
        logs.append(log - gammaln(total + len(own)) + gammaln(total))
    n_occupied = len({int(votes.found[d]) for d in others})
    new = np.log(AGREED_ALPHA * (max(MAX_AGREED, len(clusters)) - n_occupied)) + len(own) * np.log(BETA)
    logs.append(new - gammaln(n_columns * BETA + len(own)) + gammaln(n_columns * BETA))
    weights = np.exp(DEPENDENCE * (np.array(logs) - max(logs)))
    return weights / weights.sum()


def table(votes: Votes, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, found = zip(*votes.blocks(labels, int(labels.max()) + 1), strict=True)
    return np.concatenate(rows), np.concatenate(found)


def test_probabilities_are_those_of_the_second_step(votes):
    rows, found = table(votes, votes.found)
    assert rows.tolist() == [d for d in range(30) if d not in (7, 9)]
    for document, row in zip(rows.tolist(), found, strict=True):
        np.testing.assert_allclose(row, expected_row(votes, document), rtol=1e-9)


def test_merged_clusters_have_the_sum(votes):
    groups = np.array([1, 0, 1, 0], np.int32)
    labels = np.append(groups, np.int32(-1))[votes.found]
    assert votes.following(labels) is votes
    rows, merged = table(votes, labels)
    _, single = table(votes, votes.found)
    np.testing.assert_allclose(merged[:, 0], single[:, 1] + single[:, 3])
    np.testing.assert_allclose(merged[:, 1], single[:, 0] + single[:, 2])
    assert rows.size == len(merged)


def test_other_labels_take_the_place_of_those_found(votes):
    labels = votes.found.copy()
    labels[np.flatnonzero(labels == 0)[0]] = 1
    followed = votes.following(labels)
    assert followed is not votes
    np.testing.assert_array_equal(followed.found, labels)
    np.testing.assert_array_equal(followed.runs, votes.runs)


def test_chosen_voters_have_the_rows_of_all(votes):
    _, found = table(votes, votes.found)
    places = np.array([0, 5, 20])
    rows, some = zip(*votes.blocks(votes.found, 4, places), strict=True)
    np.testing.assert_array_equal(np.concatenate(rows), votes.documents[places])
    np.testing.assert_array_equal(np.concatenate(some), found[places])


def test_a_label_gets_the_highest_probability_by_an_exchange():
    probabilities = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.45, 0.45, 0.1]])
    labels = np.array([0, 0, -1, 1, 2])
    prefer_labels(probabilities, labels)
    expected = [[0.5, 0.2, 0.3], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.1, 0.45, 0.45]]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-15)
    assert probabilities[[0, 1, 3, 4]].argmax(axis=1).tolist() == [0, 0, 1, 2]
