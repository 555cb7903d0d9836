"""ConsensusMixture: clusters with no settings, exactly so many, coarser and finer, of a sample; hard cases."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

from textmix import ConsensusMixture
from textmix.inference import consensus_fit


def topics(n_documents=200, n_topics=6, length=30, seed=0):
    """Documents of which half the words are their topic's, the others those of all."""
    rng = np.random.default_rng(0)
    shares = 0.5 * rng.dirichlet(np.full(100, 0.5)) + 0.5 * rng.dirichlet(np.full(100, 0.05), size=n_topics)
    rng = np.random.default_rng([seed, 1])
    labels = rng.integers(n_topics, size=n_documents)
    return scipy.sparse.csr_array([rng.multinomial(length, shares[label]) for label in labels]), labels


def no_topics():
    """Documents of which each has words of its own liking."""
    rng = np.random.default_rng(0)
    return scipy.sparse.csr_array(rng.poisson(rng.gamma(0.2, 1.0, (150, 80))))


@pytest.fixture(scope="module")
def fitted():
    counts, labels = topics()
    return ConsensusMixture(n_words=15, random_state=1).fit(counts), counts, labels


def test_topics_are_found_and_numbered_by_size(fitted):
    model, counts, labels = fitted
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
    assert (np.diff(model.cluster_sizes_) <= 0).all()
    sums = [counts.toarray()[model.labels_ == cluster].sum(axis=0) for cluster in range(model.n_clusters_)]
    np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), sums)
    assert model.trace_["n_clusters"].shape == (20,)
    assert model.converged_


def test_the_same_seed_gives_the_same_on_any_number_of_threads(fitted):
    model, counts, _ = fitted
    again = ConsensusMixture(n_words=15, random_state=1, n_jobs=1).fit(counts)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.cluster_stabilities_, model.cluster_stabilities_)


def test_new_documents_go_to_the_cluster_of_their_topic(fitted):
    model, _, _ = fitted
    others, other_labels = topics(seed=5)
    assert adjusted_rand_score(other_labels, model.predict(others)) > 0.8
    assert model.predict_proba(others[:3]).shape == (3, model.n_clusters_ + 1)


def test_stability_tells_clear_clusters_from_shaky_ones(fitted):
    model, _, _ = fitted
    assert model.stability_ > 0.8
    shaky = ConsensusMixture(random_state=1).fit(topics(length=3)[0])  # the same topics, hardly seen
    assert shaky.n_clusters_ > 1
    assert shaky.stability_ < 0.6
    assert ((shaky.cluster_stabilities_ >= 0) & (shaky.cluster_stabilities_ <= 1)).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 6, 11, 60, 200])
def test_there_are_exactly_as_many_clusters_as_asked_for(n_clusters):
    counts, _ = topics()
    model = ConsensusMixture(n_clusters, n_runs=4).fit(counts)
    assert np.unique(model.labels_).tolist() == list(range(n_clusters))
    assert model.n_clusters_ == n_clusters


def test_clusters_can_be_cut_without_fitting_again(fitted):
    model, counts, _ = fitted
    for n_clusters in range(1, model.n_clusters_ + 1):
        labels = model.cut(n_clusters)
        assert np.unique(labels).size == n_clusters
        assert all(np.unique(labels[model.labels_ == cluster]).size == 1 for cluster in range(model.n_clusters_))
    np.testing.assert_array_equal(model.cut(model.n_clusters_), model.labels_)
    exactly = ConsensusMixture(3, n_words=15, random_state=1).fit(counts)
    np.testing.assert_array_equal(exactly.labels_, model.cut(3))


def test_finer_granularity_gives_more_clusters():
    counts = no_topics()
    numbers = [ConsensusMixture(granularity=g).fit(counts).n_clusters_ for g in (0.05, "coarse", "medium", "fine", 50)]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]
    assert ConsensusMixture(granularity=1.0).fit(counts).n_clusters_ == ConsensusMixture().fit(counts).n_clusters_


@pytest.mark.parametrize("granularity", ["finest", 0, -1.0])
def test_a_wrong_granularity_is_refused(granularity):
    with pytest.raises(ValueError, match="granularity"):
        ConsensusMixture(granularity=granularity).fit(np.ones((3, 3), int))


def test_of_many_documents_a_sample_forms_the_clusters(monkeypatch):
    counts, labels = topics(n_documents=500)
    counts, labels = scipy.sparse.vstack((counts, counts[:100])), np.append(labels, labels[:100])  # some of them twice
    counts = scipy.sparse.csr_array(scipy.sparse.vstack((counts, scipy.sparse.csr_array((2, 100), dtype=int))))
    monkeypatch.setattr(consensus_fit, "MAX_SAMPLED", 200)
    model = ConsensusMixture(n_words=15).fit(counts)
    assert model.labels_[-2:].tolist() == [-1, -1]
    np.testing.assert_array_equal(model.labels_[:100], model.labels_[500:600])
    assert adjusted_rand_score(labels, model.labels_[:-2]) > 0.9
    assert model.cluster_stabilities_.shape == (model.n_clusters_,)
    assert model.stability_ > 0.8
    np.testing.assert_array_equal(ConsensusMixture(n_words=15, n_jobs=1).fit(counts).labels_, model.labels_)
    for n_clusters in (4, 30, 500):
        assert ConsensusMixture(n_clusters, n_words=15, n_runs=3).fit(counts).n_clusters_ == n_clusters


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        (np.zeros((3, 4), int), [-1, -1, -1]),
        (np.array([[2, 1]]), [0]),
        (np.array([[1, 1], [1, 1], [0, 0], [1, 1]]), [0, 0, -1, 0]),
        (np.eye(5, dtype=int), [0, 1, 2, 3, 4]),
    ],
    ids=["no words", "one document", "all alike", "nothing in common"],
)
def test_hard_cases(counts, labels):
    model = ConsensusMixture().fit(counts)
    if len(set(labels)) == len(labels) > 1 and min(labels) >= 0:  # of clusters of one size any may be the first
        assert sorted(model.labels_.tolist()) == labels
    else:
        assert model.labels_.tolist() == labels
    assert model.outliers_.tolist() == [label >= 0 and labels.count(label) == 1 for label in labels]
    assert model.merges_.costs.size == max(model.n_clusters_ - 1, 0)
    assert np.isnan(model.stability_) == (model.n_clusters_ == 0)


def test_a_giant_document_among_short_ones_changes_little():
    counts, labels = topics()
    giant = scipy.sparse.csr_array(np.full((1, 100), 10_000))
    model = ConsensusMixture(n_words=15).fit(scipy.sparse.csr_array(scipy.sparse.vstack((counts, giant))))
    assert adjusted_rand_score(labels, model.labels_[:-1]) > 0.9


def test_fractional_counts_are_taken_as_they_are():
    counts, labels = topics()
    model = ConsensusMixture().fit(counts * 0.3)
    assert adjusted_rand_score(labels, model.labels_) > 0.8


def test_a_pickle_is_the_same(fitted):
    model, counts, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))
    np.testing.assert_array_equal(again.cut(2), model.cut(2))


INTERRUPTED = """
import os, signal, threading, warnings
import numpy as np, scipy.sparse
from textmix import ConsensusMixture
from textmix.inference.views import words

counts = scipy.sparse.csr_array(np.random.default_rng(0).poisson(0.05, (300, 100)))
units = np.random.default_rng(1).normal(size=(300, 8)) if {with_vectors} else None
fit, n_finished, lock = words.fit_partition, 0, threading.Lock()

def fit_and_interrupt(*arguments):
    global n_finished
    if {n_finished} == 0:
        os.kill(os.getpid(), signal.SIGINT)
    fitted = fit(*arguments)
    with lock:
        n_finished += 1
        if n_finished == {n_finished}:
            os.kill(os.getpid(), signal.SIGINT)
    return fitted

words.fit_partition = fit_and_interrupt
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    try:
        model = ConsensusMixture(n_runs=200, n_sweeps={n_sweeps}, n_jobs=2).fit(counts, vectors=units)
    except KeyboardInterrupt:
        print("nothing")
    else:
        print(model.labels_.size, model.n_vector_runs_, *[str(warning.message) for warning in told])
"""


def run_script(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.parametrize("with_vectors", [False, True], ids=["words", "words and vectors"])
@pytest.mark.parametrize(("n_finished", "n_sweeps"), [(3, 20), (0, 1_000_000)], ids=["between runs", "in the first"])
def test_ctrl_c_keeps_the_runs_that_are_finished(n_finished, n_sweeps, with_vectors):
    finished = run_script(INTERRUPTED.format(n_finished=n_finished, n_sweeps=n_sweeps, with_vectors=with_vectors))
    if n_finished == 0:
        assert finished.stdout == "nothing\n"
    else:
        assert finished.stdout.startswith("300 0 sampling interrupted: this is what ")
        assert finished.stdout.endswith("of 200 runs agree on\n")


INTERRUPTED_ON_VECTORS = """
import os, signal, warnings
import numpy as np, scipy.sparse
from textmix import ConsensusMixture
from textmix.inference.views import vectors

counts = scipy.sparse.csr_array(np.random.default_rng(0).poisson(0.05, (300, 100)))
units = np.random.default_rng(1).normal(size=(300, 8))
fit = vectors.fit_directions

def interrupt_and_fit(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    return fit(*arguments)

vectors.fit_directions, vectors.N_SWEEPS = interrupt_and_fit, 1_000_000
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model = ConsensusMixture(n_jobs=1).fit(counts, vectors=units)
by_words = ConsensusMixture(n_jobs=1).fit(counts)
print(model.n_runs_, model.n_vector_runs_, (model.labels_ == by_words.labels_).all(), told[0].message)
"""


def test_ctrl_c_in_the_first_run_on_vectors_keeps_those_on_words():
    finished = run_script(INTERRUPTED_ON_VECTORS)
    assert finished.stdout == "10 0 True sampling interrupted: this is what runs on words agree on\n"
