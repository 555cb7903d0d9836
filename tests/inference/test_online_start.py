"""Documents that come one by one (FGSDMM+): what they are drawn from, and that nothing is left out."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from kernels.ladder import (
    PRIORS,
    SAMPLERS,
    TINY,
    Corpus,
    assert_statistics_equal_a_recount,
    build_state,
    random_corpus,
    uneven,
)
from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.inference import collapsed_gibbs

INTERPRETED = bool(numba.config.DISABLE_JIT)
FOUR = {  # few enough for all their orders
    "short": Corpus(TINY["short"].counts[:4], 0.4),
    "words differ": TINY["words differ"],
}


def placed(corpus: Corpus, prior: tuple, sampler: str, rng) -> collapsed_gibbs.GibbsState:
    """A state whose documents came one by one."""
    state = build_state(corpus, np.full(len(corpus.counts), -1), prior, sampler, "plain")
    state.place_all(rng, lambda _: None)
    return state


@functools.cache
def enumerated_starts(name: str, prior: tuple) -> dict:
    return reference.one_by_one(*FOUR[name], prior)


@pytest.mark.parametrize("block", [4096, 2], ids=["one block", "blocks of two"])
@pytest.mark.parametrize(
    ("name", "prior_name"),
    [
        ("short", "finite, room left"),
        ("short", "finite, few clusters"),
        ("short", "process"),
        ("words differ", "clusters differ"),
    ],
)
def test_labels_are_drawn_given_the_documents_before(name, prior_name, block, monkeypatch):
    monkeypatch.setattr(collapsed_gibbs, "BLOCK", block)
    prior, rng = PRIORS[prior_name], np.random.default_rng(5)
    state = build_state(FOUR[name], np.full(4, -1), prior, "auto", "plain")
    seen: Counter = Counter()
    n_draws = 300 if INTERPRETED else 1000
    for _ in range(n_draws):
        state.labels[:] = -1
        state.place_all(rng, lambda _: None)
        seen[reference.outcome(state.labels, prior)] += 1
    expected = enumerated_starts(name, prior)
    assert set(seen) <= set(expected)
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


def test_documents_come_in_any_order(monkeypatch):
    seen, place = Counter(), collapsed_gibbs.place

    def watched(*arguments):
        seen[tuple(arguments[6].tolist())] += 1
        return place(*arguments)

    monkeypatch.setattr(collapsed_gibbs, "place", watched)
    state = build_state(FOUR["short"], np.full(4, -1), ("finite", 3, 0.3), "auto", "plain")
    rng, orders = np.random.default_rng(0), list(itertools.permutations(range(4)))
    for _ in range(600):
        state.labels[:] = -1
        state.place_all(rng, lambda _: None)
    assert reference.chi_square_p_value(seen, dict.fromkeys(orders, 1 / 24), 600) > 1e-4


@settings(max_examples=10 if INTERPRETED else 60)
@given(
    seed=st.integers(0, 2**31),
    n_documents=st.integers(1, 40),
    n_words=st.integers(1, 12),
    mean_length=st.sampled_from([0.7, 3, 20]),
    prior=st.sampled_from([*PRIORS.values(), ("finite", 1, 0.3), ("process", 50.0)]),
    sampler=st.sampled_from(SAMPLERS),
    words_differ=st.booleans(),
)
def test_every_document_with_words_is_placed_and_counted(
    seed, n_documents, n_words, mean_length, prior, sampler, words_differ
):
    beta = uneven(n_words) if words_differ and n_words > 1 else 0.1
    corpus = random_corpus(seed, n_documents, n_words, mean_length, beta)
    state = placed(corpus, prior, sampler, np.random.default_rng(seed))
    has_words = corpus.counts.any(axis=1)
    assert (state.labels[has_words] >= 0).all()
    assert (state.labels[~has_words] == -1).all()
    assert state.labels.max(initial=-1) < state.prior.max_clusters
    assert state.n_clusters == np.unique(state.labels[has_words]).size
    assert_statistics_equal_a_recount(state)
    state.sample(np.random.default_rng(seed), lambda _: None)
    assert_statistics_equal_a_recount(state)


@pytest.mark.parametrize("prior_name", ["finite, few clusters", "clusters differ"])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_more_clusters_than_there_may_be(prior_name, sampler):
    """Documents of their own words would each rather have a cluster of their own."""
    counts = np.repeat(np.eye(12, dtype=int) * 20, 2, axis=0)
    prior = PRIORS[prior_name]
    state = placed(Corpus(counts, 0.01), prior, sampler, np.random.default_rng(0))
    assert state.n_clusters == prior[1]
    assert state.prior.max_clusters == prior[1]
    assert_statistics_equal_a_recount(state)


class LastNumbers:
    """Random numbers that are the last ones below 1; documents come in order."""

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)

    def random(self, n: int) -> np.ndarray:
        return np.full(n, np.nextafter(1.0, 0.0))


@pytest.mark.parametrize("prior", [("finite", 30, 0.3), ("finite", 30, tuple(0.1 + 0.013 * k for k in range(30)))])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_last_random_number_leads_to_a_cluster_that_there_is(prior, sampler):
    corpus = random_corpus(3, 200, 30, 4, 0.05)
    state = placed(corpus, prior, sampler, LastNumbers())
    assert state.labels.max() < 30
    assert_statistics_equal_a_recount(state)


def test_a_block_that_begins_without_a_free_slot_gets_one(monkeypatch):
    """Slots used up by the last document of a block, not long after statistics were laid out anew."""
    monkeypatch.setattr(collapsed_gibbs, "BLOCK", 49)
    calls, place = [], collapsed_gibbs.place

    def counted(*arguments):
        calls.append(arguments)
        assert len(calls) < 1000, "the same documents are tried again and again"
        return place(*arguments)

    monkeypatch.setattr(collapsed_gibbs, "place", counted)
    # 129 documents that go together, then 18 that do not, up to the end of the third block: 19 clusters, 19 slots.
    same, others = np.zeros((129, 61), int), np.zeros((60, 61), int)
    same[:, 0] = 50
    others[np.arange(60), np.arange(1, 61)] = 50
    state = placed(Corpus(np.vstack([same, others]), 0.01), ("process", 1e-3), "auto", LastNumbers())
    assert state.n_clusters == 61
    assert_statistics_equal_a_recount(state)


# The estimators


def topics(n_documents: int = 90) -> np.ndarray:
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(30, 0.1), 3)
    return np.array([rng.multinomial(12, words[d % 3]) for d in range(n_documents)])


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
@pytest.mark.parametrize("alpha", [0.1, np.linspace(0.05, 0.5, 8)], ids=["alike", "clusters differ"])
def test_estimators_start_so(alpha, inference):
    counts = np.vstack([topics(), np.zeros((3, 30), int)])
    model = DirichletMultinomialMixture(8, alpha, init="online", inference=inference, n_jobs=1).fit(counts)
    assert (model.labels_[-3:] == -1).all()
    assert 3 <= model.n_clusters_ <= 8
    assert len({model.labels_[d : d + 3].tobytes() for d in range(0, 90, 3)}) <= 8  # mostly the three topics
    again = DirichletMultinomialMixture(**model.get_params()).fit(counts)
    np.testing.assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_one_cluster_and_no_documents(inference):
    settings = {"init": "online", "inference": inference, "n_jobs": 1}
    assert set(DirichletMultinomialMixture(1, **settings).fit(topics(10)).labels_) == {0}
    nothing = DirichletMultinomialMixture(3, **settings).fit(np.zeros((2, 3), int))
    assert nothing.n_clusters_ == 0
    assert nothing.labels_.tolist() == [-1, -1]


def test_no_sweeps_leave_the_start_as_it_is():
    counts = topics()
    model = DirichletMultinomialMixture(8, init="online", n_sweeps=0, polish=False, random_state=3).fit(counts)
    assert model.n_iter_ == 0
    assert (model.labels_ >= 0).all()
    assert 2 <= model.n_clusters_ <= 8


def test_a_process_may_start_so_too():
    corpus = Corpus(topics(), 0.02)
    state = placed(corpus, ("process", 1.0), "auto", np.random.default_rng(0))
    assert 3 <= state.n_clusters <= 20
    expected = reference.log_joint(corpus.counts, state.labels, 0.02, ("process", 1.0))
    assert state.log_joint() == pytest.approx(expected, rel=1e-9)
    with pytest.raises(TypeError):
        DirichletProcessMixture(init="online")
