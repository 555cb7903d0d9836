"""Runs on vectors: what a run sees, what it finds, known documents, hard cases."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

from textmix.inference.consensus import sample_runs
from textmix.inference.known_clusters import GuidedDocuments
from textmix.inference.progress import Progress
from textmix.inference.views.vectors import (
    LEAST_SEEN,
    N_GREEDY,
    N_SWEEPS,
    SHORT,
    VectorView,
    chances_by_length,
    half_of_dimensions,
)
from textmix.inference.views.words import WordSettings
from textmix.models.collapsed_directions import sum_words
from textmix.vectors.source import ArrayVectors

QUIET = Progress(shown=False)


def planted(n_documents=120, n_topics=5, n_dimensions=64, noise=0.5, seed=0):
    """Unit vectors around one direction per topic, orthogonal to each other; `noise`: the length of what is added."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(n_dimensions, n_dimensions)))[0][:n_topics]
    topics = np.arange(n_documents) % n_topics
    rows = directions[topics] + noise / np.sqrt(n_dimensions) * rng.normal(size=(n_documents, n_dimensions))
    return unit_rows(rows), topics


def unit_rows(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def make_view(
    vectors, *, n_words=5, counts=None, known=(), n_runs=4, n_start_clusters=20, chances=None, n_words_seen=40
):
    """A view of documents with these counts of words, the last of which are known.

    Without counts they have n_words different words each, in fractions, so that runs do not look at them.
    """
    whole = counts is not None
    if not whole:
        lengths = np.broadcast_to(n_words, len(vectors))
        counts = scipy.sparse.csr_array(0.5 * (np.arange(max(lengths)) < lengths[:, np.newaxis]))
    clusters = np.array(known, dtype=np.int32)
    documents = GuidedDocuments(counts, clusters, int(clusters.max(initial=-1)) + 1, chances)
    settings = WordSettings(n_runs, n_words_seen, 500, 0.1, 0.1, 20)
    return VectorView(documents, whole, ArrayVectors(vectors), settings, n_start_clusters)


def labels_of(view, number=0, seed=0):
    return view.sample(number, seed, QUIET).labels


def all_labels(view, seed=0):
    return np.stack([labels_of(view, number, seed) for number in range(view.n_runs)])


# What a run is


def test_the_same_seed_and_number_give_the_same_run_others_another():
    vectors, _ = planted(noise=2.0)
    view, again = make_view(vectors), make_view(vectors.copy())
    np.testing.assert_array_equal(labels_of(view, 2, 7), labels_of(again, 2, 7))
    for number, seed in ((3, 7), (2, 8)):
        assert adjusted_rand_score(labels_of(view, 2, 7), labels_of(view, number, seed)) < 0.9


@pytest.mark.parametrize("n_dimensions", [16, 384])
def test_runs_are_the_same_on_any_number_of_threads(n_dimensions):
    vectors, _ = planted(noise=2.0, n_dimensions=n_dimensions)
    view = make_view(vectors, known=[0, 0, 1], n_runs=5)
    expected = all_labels(view)
    for n_jobs in (1, 2, 5):
        found = [run.labels for run in sample_runs(view, 0, n_jobs, QUIET)]
        np.testing.assert_array_equal(found, expected)


def test_labels_go_by_falling_size_and_vectors_stay_as_they_are():
    vectors, _ = planted(noise=1.5)
    before = vectors.copy()
    run = make_view(vectors).sample(0, 0, QUIET)
    assert run.labels.dtype == np.int32
    assert run.trace == {}
    sizes = np.bincount(run.labels)
    assert sizes.min() > 0
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(vectors, before)


class CountingTask:
    def __init__(self):
        self.n_visited = 0

    def advance(self, amount):
        self.n_visited += amount


class CountingProgress(Progress):
    """Counts what its tasks report, and adds up the totals that were announced."""

    def __init__(self):
        super().__init__(shown=False)
        self.counted, self.announced = CountingTask(), 0

    @contextmanager
    def task(self, name, total):
        self.announced += total
        yield self.counted


@pytest.mark.parametrize("known", [[], [0, 0, 1]], ids=["nothing known", "guided"])
def test_a_run_visits_as_many_documents_as_it_announces(known):
    vectors, _ = planted(n_documents=100)
    view, progress = make_view(vectors, known=known), CountingProgress()
    view.sample(0, 0, progress)
    n_visited = 100 if not known else 100 + 97
    assert view.n_visits == progress.announced == progress.counted.n_visited == (N_SWEEPS + N_GREEDY) * n_visited


# What a run sees


@pytest.mark.parametrize(
    ("n_words", "chance"),
    [(0, 1.0), (1, 1.0), (SHORT, 1.0), (2 * SHORT, 0.5), (4 * SHORT, 0.25), (1000 * SHORT, LEAST_SEEN)],
)
def test_the_more_words_a_document_has_the_fewer_runs_see_it(n_words, chance):
    assert chances_by_length(np.array([n_words])).tolist() == [pytest.approx(chance)]


def test_runs_see_long_documents_now_and_then_and_short_ones_always():
    vectors, _ = planted(n_documents=300)
    lengths = np.repeat([5, 20, 400], 100)
    seen = all_labels(make_view(vectors, n_words=lengths, n_runs=20)) >= 0
    assert seen[:, :100].all()
    assert seen[:, 100:200].mean() == pytest.approx(0.5, abs=0.04)
    assert seen[:, 200:].mean() == pytest.approx(LEAST_SEEN, abs=0.04)
    assert (seen[0] != seen[1]).any()


def test_documents_without_a_vector_have_no_label_and_all_others_have_one():
    vectors, _ = planted()
    vectors[[3, 40, 119]] = 0.0
    labels = all_labels(make_view(vectors))
    assert (labels[:, [3, 40, 119]] == -1).all()
    assert (np.delete(labels, [3, 40, 119], axis=1) >= 0).all()


def test_documents_without_a_vector_change_nothing_for_the_others():
    vectors, topics = planted()
    vectors[::2] = 0.0
    for labels in all_labels(make_view(vectors)):
        assert adjusted_rand_score(topics[1::2], labels[1::2]) == 1.0


def test_a_document_of_weight_0_is_in_no_run_and_half_a_weight_in_half_of_them():
    vectors, _ = planted(n_documents=300)
    chances = np.repeat([0.0, 0.5, 1.0], 100)
    seen = all_labels(make_view(vectors, chances=chances, n_runs=20)) >= 0
    assert not seen[:, :100].any()
    assert seen[:, 100:200].mean() == pytest.approx(0.5, abs=0.04)
    assert seen[:, 200:].all()


def test_weight_and_length_both_count():
    vectors, _ = planted(n_documents=200)
    seen = all_labels(make_view(vectors, n_words=20, chances=np.full(200, 0.5), n_runs=20)) >= 0
    assert seen.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(("n_dimensions", "n_left"), [(2, 2), (3, 2), (5, 2), (8, 4), (33, 16)])
def test_half_of_the_dimensions_in_rows_of_length_1(n_dimensions, n_left):
    """A row that is 1 in one dimension tells whether, and where, that dimension was chosen."""
    rng = np.random.default_rng(n_dimensions)
    others = unit_rows(rng.normal(size=(6, n_dimensions)))
    vectors = np.vstack((np.eye(n_dimensions, dtype=np.float32), others))
    found = half_of_dimensions(ArrayVectors(vectors), np.arange(len(vectors)), rng)
    assert found.shape == (n_dimensions + 6, n_left)
    assert found.dtype == np.float32
    chosen = np.flatnonzero(found[:n_dimensions].any(axis=1))
    np.testing.assert_array_equal(found[chosen], np.eye(n_left))
    np.testing.assert_allclose(found[n_dimensions:], unit_rows(others[:, chosen]), atol=1e-6)


def test_halves_differ_and_every_dimension_is_in_some():
    vectors, rows = np.eye(12, dtype=np.float32), np.arange(12)
    rng = np.random.default_rng(0)
    halves = np.stack([half_of_dimensions(ArrayVectors(vectors), rows, rng).any(axis=1) for _ in range(30)])
    assert (halves.sum(axis=1) == 6).all()
    assert (np.abs(halves.mean(axis=0) - 0.5) < 0.3).all()


def test_a_half_is_that_of_the_rows_asked_for():
    vectors, _ = planted(n_documents=10)
    rows = np.array([7, 0, 3])
    of_all = half_of_dimensions(ArrayVectors(vectors), np.arange(10), np.random.default_rng(1))
    np.testing.assert_array_equal(
        half_of_dimensions(ArrayVectors(vectors), rows, np.random.default_rng(1)), of_all[rows]
    )


@pytest.mark.parametrize("size", [1e-2, 1e-10, 1e-22, 1e-40])
def test_a_vector_of_which_next_to_nothing_is_in_a_half_has_no_direction_there(size):
    """Shares of topics, for instance, are 1 in one dimension and next to nothing in all others."""
    vectors = np.full((8, 8), size, np.float32)
    np.fill_diagonal(vectors, 1.0)
    for seed in range(5):
        half = half_of_dimensions(ArrayVectors(unit_rows(vectors)), np.arange(8), np.random.default_rng(seed))
        np.testing.assert_allclose(np.sort(np.linalg.norm(half, axis=1)), [0, 0, 0, 0, 1, 1, 1, 1], atol=1e-5)


# What a run finds


def test_directions_that_are_far_apart_are_found_by_every_run():
    vectors, topics = planted()
    for labels in all_labels(make_view(vectors)):
        assert adjusted_rand_score(topics, labels) == 1.0


def test_a_view_that_says_nothing_finds_nothing():
    vectors, topics = planted()
    shuffled = np.random.default_rng(0).permutation(vectors)
    for labels in all_labels(make_view(shuffled)):
        assert adjusted_rand_score(topics, labels) < 0.1


def words_of(topics, n_words_each=3):
    """Documents of words that only those of the same topic have."""
    columns = n_words_each * topics[:, np.newaxis] + np.arange(n_words_each)
    counts = np.zeros((topics.size, n_words_each * (topics.max() + 1)), int)
    np.put_along_axis(counts, columns, 1, axis=1)
    return scipy.sparse.csr_array(counts)


def test_words_tell_apart_what_vectors_do_not():
    vectors, _ = planted(n_topics=1)
    topics = np.arange(len(vectors)) % 4
    for labels in all_labels(make_view(vectors, counts=words_of(topics, 8))):
        assert adjusted_rand_score(topics, labels) == 1.0
    for labels in all_labels(make_view(vectors, counts=words_of(0 * topics, 8))):
        assert (labels == 0).all()


def test_vectors_tell_apart_what_words_do_not():
    vectors, topics = planted()
    for labels in all_labels(make_view(vectors, counts=words_of(0 * topics, 1))):
        assert adjusted_rand_score(topics, labels) == 1.0


def test_a_run_sees_some_words_of_a_long_document(monkeypatch):
    vectors, _ = planted(n_documents=30)
    counts = scipy.sparse.csr_array(np.random.default_rng(0).poisson(1.0, (30, 200)))
    seen = words_seen_by(make_view(vectors, counts=counts, n_words_seen=4, n_runs=20), monkeypatch)
    assert len(seen) == 20
    assert all((one.sum(axis=1) == 4).all() for one in seen)
    assert len({one.shape[1] for one in seen}) > 1  # others in each run


def test_with_many_clusters_a_run_sees_the_most_widespread_words(monkeypatch):
    vectors, _ = planted(n_documents=60)
    frequencies = np.arange(1, 11)
    counts = scipy.sparse.csr_array((np.arange(60)[:, np.newaxis] % 12 < frequencies).astype(int))
    monkeypatch.setattr("textmix.inference.views.vectors.N_WORDS", 10)
    monkeypatch.setattr("textmix.inference.views.vectors.MAX_COUNTS", 4 * 20)
    view = make_view(vectors, counts=counts)
    for one in words_seen_by(view, monkeypatch):
        np.testing.assert_array_equal(one.sum(axis=0), counts.sum(axis=0)[-4:])


def words_seen_by(view, monkeypatch):
    """Counts of the words that each run has sampled with."""
    seen = []

    def sum_and_tell(counts, *others):
        seen.append(counts)
        return sum_words(counts, *others)

    monkeypatch.setattr("textmix.inference.views.vectors.sum_words", sum_and_tell)
    all_labels(view)
    return seen


# Known documents


def guided():
    """Documents of five topics, the last ten of topics 0 and 1 known."""
    vectors, topics = planted(n_documents=150)
    known = np.concatenate((np.flatnonzero(topics == 0)[:5], np.flatnonzero(topics == 1)[:5]))
    order = np.append(np.delete(np.arange(150), known), known)
    return vectors[order], topics[order], np.repeat([0, 1], 5)


def test_known_documents_are_in_one_cluster_of_their_own_in_every_run():
    vectors, topics, known = guided()
    for labels in all_labels(make_view(vectors, known=known, n_runs=8)):
        own = [np.unique(labels[-10:][known == cluster]).tolist() for cluster in (0, 1)]
        assert [len(each) for each in own] == [1, 1]
        assert own[0] != own[1]
        for cluster in (0, 1):
            np.testing.assert_array_equal(labels == own[cluster][0], topics == cluster)


def test_known_documents_stay_together_though_their_vectors_say_otherwise():
    vectors, topics = planted(n_documents=150)
    known = np.repeat([0, 1, 2], 6)  # the last documents, of any topics
    assert np.unique(topics[-6:]).size > 1
    for labels in all_labels(make_view(vectors, known=known, n_runs=8)):
        last = labels[-18:].reshape(3, 6)
        assert (last == last[:, :1]).all()
        assert np.unique(last[:, 0]).size == 3


def test_what_is_unrelated_to_all_known_documents_stays_away_from_them():
    """Twenty known clusters of one document each, orthogonal to the topics of all others."""
    vectors, topics = planted(n_documents=100, n_topics=4)
    known = np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0][4:24].astype(np.float32)
    for labels in all_labels(make_view(np.vstack((vectors, known)), known=np.arange(20), n_runs=5)):
        assert np.unique(labels[100:]).size == 20
        assert np.isin(labels[:100], labels[100:]).mean() < 0.05
        assert adjusted_rand_score(topics, labels[:100]) > 0.95


def test_known_documents_are_seen_by_all_runs_unless_they_have_no_vector():
    vectors, _, known = guided()
    vectors[-1] = 0.0
    labels = all_labels(make_view(vectors, known=known, n_words=1000))
    assert (labels[:, -10:-1] >= 0).all()
    assert (labels[:, -1] == -1).all()


def test_known_clusters_without_any_vector_are_no_hindrance():
    vectors, topics, known = guided()
    vectors[-5:] = 0.0  # all of the second known cluster
    for labels in all_labels(make_view(vectors, known=known)):
        assert (labels[-5:] == -1).all()
        assert np.unique(labels[-10:-5]).size == 1
        assert adjusted_rand_score(topics[:-5], labels[:-5]) == 1.0
    vectors[-10:] = 0.0
    for labels in all_labels(make_view(vectors, known=known)):
        assert adjusted_rand_score(topics[:-10], labels[:-10]) == 1.0


def test_all_documents_may_be_known():
    vectors, _ = planted(n_documents=12)
    known = np.arange(12) % 3
    for labels in all_labels(make_view(vectors, known=known)):
        assert adjusted_rand_score(known, labels) == 1.0


# Hard cases


@pytest.mark.parametrize("n_dimensions", [2, 3, 64])
def test_one_document(n_dimensions):
    vectors, _ = planted(n_documents=1, n_topics=1, n_dimensions=n_dimensions)
    assert all_labels(make_view(vectors)).tolist() == [[0]] * 4


@pytest.mark.parametrize("n_dimensions", [2, 3, 64])
def test_two_identical_documents_are_together(n_dimensions):
    vectors, _ = planted(n_documents=1, n_topics=1, n_dimensions=n_dimensions)
    assert all_labels(make_view(np.repeat(vectors, 2, axis=0))).tolist() == [[0, 0]] * 4


def test_fewer_documents_than_clusters_to_start_from():
    vectors, topics = planted(n_documents=12, n_topics=2)
    for labels in all_labels(make_view(vectors, n_start_clusters=500)):
        assert adjusted_rand_score(topics, labels) == 1.0


def test_two_dimensions_tell_opposite_directions_apart():
    angles = np.append(np.linspace(-0.1, 0.1, 50), np.pi + np.linspace(-0.1, 0.1, 50))
    vectors = np.column_stack((np.cos(angles), np.sin(angles))).astype(np.float32)
    for labels in all_labels(make_view(vectors)):
        assert not set(labels[:50].tolist()) & set(labels[50:].tolist())


def test_no_document_has_a_vector():
    view = make_view(np.zeros((5, 4), np.float32))
    assert not view.sees_any
    assert (all_labels(view) == -1).all()
    assert make_view(np.eye(5, 4, dtype=np.float32)).sees_any


@pytest.mark.parametrize("known", [[], [0]], ids=["nothing known", "guided"])
def test_a_half_in_which_all_vectors_are_zero(known):
    vectors = np.zeros((5, 4), np.float32)
    vectors[:, 0] = 1.0
    labels = all_labels(make_view(vectors, known=known, n_runs=10))
    assert {tuple(row) for row in labels.tolist()} == {(-1,) * 5, (0,) * 5}
