"""Perplexity at the posterior means (X-DMM, eq. 3): of new documents, of the training documents, in the trace."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

import reference
from kernels.ladder import (
    CORPORA,
    PRIORS,
    SAMPLERS,
    Corpus,
    build_state,
    force_log_space,
    labels_in_prior,
    random_labels,
    uneven,
)
from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.inference import parallel_state
from textmix.inference.layout import betas_of_words
from textmix.inference.perplexity import log_predictive, perplexity, sum_log_betas
from textmix.inference.scoring import PartitionScorer
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import finite_dirichlet, of_occupied

# Huge counts are left out: e to the 10^7 is nothing that a slow sum could be compared with.
NAMES = [name for name in CORPORA if name != "huge counts"]
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())


def topics(n_documents: int = 60, n_words: int = 25) -> np.ndarray:
    rng = np.random.default_rng(1)
    words = rng.dirichlet(np.full(n_words, 0.1), 3)
    return np.array([rng.multinomial(1 + d % 14, words[d % 3]) for d in range(n_documents)])


NEW_DOCUMENTS = np.vstack([topics(5), np.zeros((1, 25), int), 40 * topics(2)])
MODELS = {
    "finite": (DirichletMultinomialMixture(6, 0.3, 0.2), ("finite", 6, 0.3)),
    "full": (DirichletMultinomialMixture(2, 0.3, 0.2), ("finite", 2, 0.3)),
    "process": (DirichletProcessMixture(0.7, 0.2), ("process", 0.7)),
    "clusters differ": (
        DirichletMultinomialMixture(6, (0.1, 2.0, 0.3, 0.7, 0.05, 0.2), 0.2),
        ("finite", 6, (0.1, 2.0, 0.3, 0.7, 0.05, 0.2)),
    ),
    "words differ": (DirichletProcessMixture(0.7, uneven(25)), ("process", 0.7)),
}


@every_prior
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("arithmetic", ["plain", "log"])
@pytest.mark.parametrize("name", NAMES)
def test_that_of_a_sampler_s_state_is_the_reference_s(name, prior, sampler, arithmetic, monkeypatch):
    corpus = CORPORA[name]
    if arithmetic == "log":
        monkeypatch.setattr("textmix.inference.perplexity.plain_length_limit", lambda *_: 0)
    state = build_state(corpus, random_labels(corpus, prior, 2), prior, sampler, "plain")
    counts = scipy.sparse.csr_array(corpus.counts)
    beta = corpus.beta
    betas, unit = betas_of_words(beta, state.prepared.words), state.prepared.unit
    model = dirichlet_multinomial(betas, counts.shape[1], unit, state.prepared.max_word_total, at_mean=True)
    log_p = log_predictive(state.prepared.documents, state.clusters, model, state.prior)
    log_betas = sum_log_betas(counts.indices, counts.data, beta)
    n = state.n_documents
    found = perplexity(log_p, n, max(n - 1, 0), float(counts.sum()), log_betas, model, state.prior)
    assert found == pytest.approx(reference.perplexity(corpus.counts, state.labels, beta, prior), rel=1e-9)


@every_prior
@pytest.mark.parametrize("name", NAMES)
def test_that_of_new_documents_is_the_reference_s(name, prior):
    corpus = CORPORA[name]
    labels = random_labels(corpus, prior, 3)
    labels[~corpus.counts.any(axis=1)] = -1
    state = build_state(corpus, labels, prior, "auto", "plain")
    used = np.unique(labels[labels >= 0])
    by_cluster = scipy.sparse.csr_array(np.array([corpus.counts[labels == cluster].sum(axis=0) for cluster in used]))
    sizes = np.array([np.count_nonzero(labels == cluster) for cluster in used])
    fitted = of_occupied(state.prior, used)
    scorer = PartitionScorer.from_statistics(sizes, by_cluster, corpus.beta, fitted, state.prepared.unit)
    rng = np.random.default_rng(0)
    new = np.vstack([rng.permuted(corpus.counts, axis=1), corpus.counts[:2], np.zeros((1, corpus.counts.shape[1]))])
    expected = reference.perplexity(corpus.counts, labels, corpus.beta, prior, new)
    assert scorer.perplexity(scipy.sparse.csr_array(new)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("step", [1, 0.25], ids=["whole", "fractional"])
def test_estimators_tell_that_of_new_and_of_training_documents(name, step):
    model, prior = MODELS[name]
    counts, new = topics() * step, NEW_DOCUMENTS * step
    model = model.__class__(**model.get_params()).set_params(n_sweeps=8).fit(counts)
    labels = labels_in_prior(model, prior)
    assert model.perplexity() == pytest.approx(reference.perplexity(counts, labels, model.beta, prior), rel=1e-9)
    expected = reference.perplexity(counts, labels, model.beta, prior, new)
    assert model.perplexity(new) == pytest.approx(expected, rel=1e-9)
    assert model.perplexity(scipy.sparse.csr_matrix(new)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("inference", ["gibbs", "metropolis"])
def test_with_what_was_learned_it_is_that_of_the_last_draw(inference):
    learned = "learn" if inference == "gibbs" else 0.3
    model = DirichletMultinomialMixture(5, alpha=learned, beta=learned, n_sweeps=4, polish=False, inference=inference)
    counts = topics()
    model.fit(counts)
    prior = ("finite", 5, model.alpha_)
    assert model.perplexity() == pytest.approx(
        reference.perplexity(counts, model.labels_, model.beta_, prior), rel=1e-9
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_parts", [1, 3])
def test_the_parallel_sampler_tells_that_of_the_clusters_a_sweep_began_with(name, n_parts, monkeypatch):
    monkeypatch.setattr("textmix.corpus.shards._ENTRIES_WORTH_A_SHARD", 100 if n_parts > 1 else 1 << 14)
    starts = watch_starts(monkeypatch)
    model, prior = MODELS[name]
    counts = topics()
    model = model.__class__(**model.get_params()).set_params(n_sweeps=3, tol=0, inference="parallel", n_jobs=1)
    model.fit(counts)
    if prior[0] == "process":  # a finite mixture stands for the process
        prior = ("finite", 60, 0.7 / 60)
    assert len(starts) == 3
    for found, labels in zip(model.trace_["perplexity"], starts, strict=True):
        assert found == pytest.approx(reference.perplexity(counts, labels, model.beta, prior), rel=1e-9)


@pytest.mark.parametrize("form", ["sampled", "uncollapsed", "means"])
def test_other_forms_tell_that_of_the_clusters_a_sweep_ended_with(form):
    counts = np.hstack([topics(), np.zeros((60, 3), int)])
    model = DirichletMultinomialMixture(
        6, 0.3, 0.2, inference="parallel", n_sweeps=4, tol=0, polish=False, word_probabilities=form, leave_out=False
    ).set_params(n_jobs=1)
    model.fit(counts)
    expected = reference.perplexity(counts, model.labels_, 0.2, ("finite", 6, 0.3))
    assert model.trace_["perplexity"][-1] == pytest.approx(expected, rel=1e-9)


def watch_starts(monkeypatch) -> list[np.ndarray]:
    """The labels that each sweep of the parallel sampler begins with."""
    starts: list[np.ndarray] = []
    sample = parallel_state.ParallelState.sample

    def watched(self, sweep, tick):
        starts.append(self.labels_in_order().astype(int))
        return sample(self, sweep, tick)

    monkeypatch.setattr(parallel_state.ParallelState, "sample", watched)
    return starts


@pytest.mark.parametrize("inference", ["gibbs", "parallel"])
def test_without_words_there_is_none(inference):
    model = DirichletMultinomialMixture(3, inference=inference, n_jobs=1)
    model.fit(np.zeros((3, 4), int))
    assert math.isnan(model.perplexity())
    assert math.isnan(model.perplexity(np.zeros((1, 4), int)))
    assert model.perplexity(np.array([[1, 0, 2, 0]])) == pytest.approx(4.0)  # nothing is known of words
    fitted = DirichletMultinomialMixture(3, inference=inference, n_jobs=1).fit(topics())
    assert math.isnan(fitted.perplexity(np.zeros((2, 25), int)))


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
@pytest.mark.parametrize("count", [1e-9, 1e-200, 5e-324])
def test_tiny_counts_have_one_unless_rounding_would_decide(inference, count):
    settings = {"inference": inference, "switch": 1, "n_sweeps": 12, "n_jobs": 1}
    model = DirichletMultinomialMixture(3, beta=50.0, **settings).fit(topics() * count)
    values = [*model.trace_.get("perplexity", ()), model.perplexity(), model.perplexity(topics() * count)]
    if count == 1e-9:
        np.testing.assert_allclose(values, 25.0, rtol=1e-3)  # of 25 words: so little tells nothing
    else:
        assert np.isnan(values).all()


def test_one_that_no_float_holds_is_infinite():
    model = dirichlet_multinomial(0.1, 4, 1.0, 3, at_mean=True)
    assert perplexity(-1e9, 1, 1, 1.0, 0.0, model, finite_dirichlet(2, 0.1)) == math.inf


def test_one_document_is_predicted_from_nothing():
    model = DirichletMultinomialMixture(3, beta=0.5).fit(np.array([[3, 0, 1, 0]]))
    assert model.perplexity() == pytest.approx(4.0)


def test_memory_not_written_yet_does_not_matter(monkeypatch):
    """Lists of pairs have room for more; what is there may be anything."""
    build = "textmix.inference.collapsed_gibbs.build_pair_room"
    from textmix.inference.collapsed_gibbs import build_pair_room

    def dirty(documents):
        room = build_pair_room(documents)
        room.slots[:], room.counts[:] = 2**32 - 1, -7
        return room

    expected = DirichletMultinomialMixture(20, n_sweeps=3, sampler="sparse").fit(topics())
    monkeypatch.setattr(build, dirty)
    with np.errstate(invalid="raise", divide="raise"):
        found = DirichletMultinomialMixture(20, n_sweeps=3, sampler="sparse").fit(topics())
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.perplexity() == pytest.approx(expected.perplexity(), rel=1e-12)


def test_the_sum_of_log_betas_is_that_of_all_words():
    counts = scipy.sparse.csr_array(topics())
    betas = uneven(25)
    assert sum_log_betas(counts.indices, counts.data, betas) == pytest.approx(float((topics() @ np.log(betas)).sum()))
    assert sum_log_betas(counts.indices, counts.data, 0.2) == pytest.approx(topics().sum() * math.log(0.2))


def test_documents_in_no_cluster_are_taken_out_of_none():
    """Some documents labelled, others not: each is predicted by the clusters without it."""
    corpus, prior = Corpus(topics(12), 0.2), ("finite", 4, 0.3)
    labels = np.array([0, 1, 2, 0, 1, 2, -1, -1, -1, -1, -1, -1])
    state = build_state(corpus, labels, prior, "auto", "plain")
    force_log_space(state)
    prepared = state.prepared
    betas = betas_of_words(0.2, prepared.words)
    model = dirichlet_multinomial(betas, 25, prepared.unit, prepared.max_word_total, at_mean=True)
    log_p = log_predictive(prepared.documents, state.clusters, model, state.prior)
    expected = 0.0
    for document, words in enumerate(corpus.counts):
        others = labels.copy()
        others[document] = -1
        logs = reference.log_weights_at_means(corpus.counts, others, words, 0.2, prior)
        expected += float(np.logaddexp.reduce(list(logs.values())))
        expected += math.log((others >= 0).sum() + 4 * 0.3)  # weights are relative to an empty cluster of weight 1
        expected -= float(words.sum()) * math.log(1 / 25)
    assert log_p == pytest.approx(expected, rel=1e-9)
    assert math.isnan(perplexity(0.0, 0, 0, 0.0, 0.0, model, state.prior))
