"""Metropolis-Hastings sweeps: tables to draw from, acceptance, exactness while proposals are frozen, bias when not."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from kernels.ladder import (
    CORPORA,
    PRIORS,
    SAMPLERS,
    TINY,
    Corpus,
    assert_statistics_equal_a_recount,
    build_state,
    enumerated_posterior,
    put_into_slots,
    random_corpus,
    random_labels,
)
from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.metropolis import MAX_CANDIDATES, MetropolisSettings, MetropolisSweeps
from textmix.kernels.jit import kernel
from textmix.kernels.metropolis import build_alias, draw_alias, metropolis_sweep, refresh, uniform_at
from textmix.kernels.state import N_ACCEPTED, N_PROPOSED, N_SLOTS, Alias
from textmix.kernels.weights import log_weight_in, new_weight

INTERPRETED = bool(numba.config.DISABLE_JIT)
FINITE = {name: prior for name, prior in PRIORS.items() if prior[0] == "finite"}
every_prior = pytest.mark.parametrize("prior", FINITE.values(), ids=FINITE.keys())
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


def ignore(_: int) -> None:
    pass


def with_names(prior: tuple) -> tuple:
    """The same prior with its clusters told apart, as sweeps have it."""
    return prior if reference.is_labelled(prior) else ("finite", prior[1], (prior[2],) * prior[1])


# Tables to draw from


@kernel
def draw_all(alias, n, uniforms, found):
    for index in range(uniforms.size):
        found[index] = draw_alias(alias, n, uniforms[index])


@kernel
def uniforms_of(key, found):
    for index in range(found.size):
        found[index] = uniform_at(key, index)


def alias_of(weights) -> Alias:
    n = len(weights)
    room = n + 3  # as in a sampler, whose table has room for all clusters
    alias = Alias(np.full(room, 7.0), np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32))
    alias.weights[:n] = weights
    build_alias(n, alias)
    return alias


def probabilities_in(alias: Alias, n: int) -> np.ndarray:
    """What the table gives each item: its share of its own place, and what other places leave to it."""
    shares = alias.shares[:n]
    assert ((shares >= 0.0) & (shares <= 1.0)).all()
    found = shares.copy()
    np.add.at(found, alias.others[:n], 1.0 - shares)
    return found / n


WEIGHTS = {
    "one item": [3.0],
    "equal": [0.1] * 7,
    "zeros": [0.0, 2.0, 0.0, 1.0, 0.0],
    "zeros before and behind": [0.0] * 50 + list(np.random.default_rng(0).random(50)) + [0.0] * 50,
    "one counts": [0.0, 0.0, 1e-200, 0.0],
    "extreme": [1e-300, 1.0, 1e-17, 1e200, 5e199],
    "thirds": [1 / 3] * 3 + [2 / 3] * 3,
    "many": list(np.random.default_rng(1).gamma(0.1, size=1000)),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_table_gives_each_item_its_weight(name):
    weights = np.array(WEIGHTS[name])
    found = probabilities_in(alias_of(weights), weights.size)
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=0, atol=1e-12)
    assert (found[weights == 0.0] == 0.0).all()


@settings(max_examples=10 if INTERPRETED else 200)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-30, 1e30)), min_size=1, max_size=40).filter(any))
def test_any_table_gives_each_item_its_weight(weights):
    found = probabilities_in(alias_of(weights), len(weights))
    np.testing.assert_allclose(found, np.array(weights) / math.fsum(weights), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["one item", "zeros", "extreme", "thirds"])
def test_draws_follow_the_table(name):
    weights = np.array(WEIGHTS[name])
    n, n_draws = weights.size, 1000 * weights.size
    found = np.empty(n_draws, np.int64)
    draw_all(alias_of(weights), n, (np.arange(n_draws) + 0.5) / n_draws, found)
    shares = np.bincount(found, minlength=n) / n_draws
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=0, atol=2.0 / 1000)
    ends = np.empty(2, np.int64)
    draw_all(alias_of(weights), n, np.array([0.0, np.nextafter(1.0, 0.0)]), ends)
    assert (weights[ends] > 0.0).all()


def test_random_numbers_of_a_key_are_uniform():
    found = np.empty(1000 if INTERPRETED else 100_000)
    for key in (0, 1, 2**63 - 1):
        uniforms_of(np.uint64(key), found)
        assert ((found >= 0.0) & (found < 1.0)).all()
        for offset in (0, 1):  # consecutive ones, in pairs, fill the square
            pairs = found[offset : offset + found.size // 2 * 2 - 2].reshape(-1, 2)
            cells = Counter((np.floor(pairs * 4) @ [4, 1]).astype(int).tolist())
            assert reference.chi_square_p_value(cells, dict.fromkeys(range(16), 1 / 16), len(pairs)) > 1e-4


# What a document weighs in one cluster


@kernel
def log_weights(documents, clusters, model, prior, document, found):
    n_slots = clusters.counters[N_SLOTS]
    for slot in range(n_slots):
        found[slot] = log_weight_in(documents, clusters, model, prior, document, slot)
    found[n_slots] = np.log(new_weight(clusters, prior, np.int64(clusters.labels[document])))


@every_prior
@every_sampler
@pytest.mark.parametrize("name", CORPORA)
def test_log_weights_differ_as_the_joints_do(name, prior, sampler):
    corpus = CORPORA[name]
    state = build_state(corpus, random_labels(corpus, prior, 1), prior, sampler, "plain")
    labels, n_slots = state.labels.astype(int), int(state.clusters.counters[N_SLOTS])
    for document in np.flatnonzero(labels >= 0):
        expected = reference.log_options(corpus.counts, labels, document, corpus.beta, prior)
        found = np.empty(n_slots + 1)
        log_weights(state.prepared.documents, state.clusters, state.model, state.prior, document, found)
        options = {slot: value for slot, value in enumerate(found[:n_slots]) if value > -np.inf}
        if found[n_slots] > -np.inf:
            options[reference.NEW] = found[n_slots]
        assert options.keys() == expected.keys()
        first = next(iter(expected))
        rounding = 1e-14 * float(corpus.counts[document].sum())
        for option in expected:
            difference = float(expected[option] - expected[first])
            assert options[option] - options[first] == pytest.approx(difference, rel=1e-9, abs=1e-9 + rounding)


# Acceptance


def propose(state: GibbsState, sweeps: MetropolisSweeps, document: int, candidate: int, log_q: float, u: float) -> None:
    """Propose one label to one document."""
    sweeps.proposals.gaps[document] = 0
    sweeps.proposals.n_kept[document] = 1
    sweeps.proposals.next_kept[document] = 0
    sweeps.proposals.slots[document, 0] = candidate
    sweeps.proposals.log_q[document, 0] = log_q
    metropolis_sweep(
        *state.for_kernels,
        sweeps.proposals,
        sweeps.alias,
        document,
        document + 1,
        1,
        999,
        1000,  # documents are refreshed, but this one not now
        np.uint64(0),
        np.array([u]),
    )


@every_prior
@every_sampler
def test_a_proposal_is_accepted_with_the_probability_it_should_be(prior, sampler):
    corpus, rng = TINY["short"], np.random.default_rng(0)
    starts = [[0, 0, 1, 1, 2], [0, 1, 1, 1, 1], [2, 0, 1, 1, 0]]
    named, seen = with_names(prior), Counter()
    state = build_state(corpus, np.zeros(5, int), prior, sampler, "plain")
    sweeps = MetropolisSweeps(state, 8)
    for start in starts:
        for document in range(5):
            now = reference.log_options(corpus.counts, np.array(start), document, corpus.beta, named)
            own = start[document]
            for slot in now:
                q_own, q_slot = rng.random(2)
                ratio = math.exp(now[slot] - now[own]) * q_own / q_slot
                for u, moves in ((ratio * (1 - 1e-9), True), (ratio * (1 + 1e-9), False)):
                    if slot == own or u >= 1.0:
                        continue
                    put_into_slots(state, np.array(start), np.arange(prior[1]))
                    sweeps.proposals.counters[:] = 0
                    sweeps.proposals.log_q_own[document] = math.log(q_own)
                    propose(state, sweeps, document, slot, math.log(q_slot), u)
                    assert (state.labels.tolist() != start) == moves, (start, document, slot)
                    assert sweeps.proposals.counters[N_ACCEPTED] == moves
                    assert sweeps.proposals.counters[N_PROPOSED] == 1
                    assert sweeps.proposals.log_q_own[document] == math.log(q_slot if moves else q_own)
                    assert_statistics_equal_a_recount(state)
                    seen[moves] += 1
    assert min(seen[True], seen[False]) > 10


def test_a_document_stays_where_it_proposes_to_stay():
    state = build_state(TINY["short"], np.array([0, 0, 1, 1, 2]), ("finite", 9, 0.3), "auto", "plain")
    sweeps = MetropolisSweeps(state, 8)
    propose(state, sweeps, 0, 0, -1.0, 1e-300)
    assert state.labels.tolist() == [0, 0, 1, 1, 2]
    assert sweeps.proposals.counters[N_PROPOSED] == 0


def test_a_process_has_no_fixed_number_of_clusters():
    state = build_state(TINY["short"], np.zeros(5, int), ("process", 0.8), "auto", "plain")
    with pytest.raises(ValueError, match="fixed number of clusters"):
        MetropolisSweeps(state, 8)


# Candidates


@pytest.mark.parametrize("n_words", [1, 30, 100])
def test_candidates_are_few(n_words):
    counts = np.ones((40, n_words), int)
    state = build_state(Corpus(counts, 0.1), np.arange(40) % 9, ("finite", 9, 0.3), "auto", "plain")
    for period, n_steps in ((1, 1), (3, 2), (500, 1)):
        state.prior = state.prior._replace(labelled=False)
        sweeps = MetropolisSweeps(state, period, n_steps)
        n_kept = sweeps.proposals.slots.shape[1]
        assert n_kept <= min(MAX_CANDIDATES, max(4, n_words), period * n_steps)
        sweeps.sample(0, np.random.default_rng(0), ignore)
        assert (sweeps.proposals.n_kept <= n_kept).all()
        n_draws = sweeps.proposals.gaps.sum(axis=1) + sweeps.proposals.n_kept
        assert (n_draws <= period * n_steps).all()
        if period * n_steps <= n_kept:
            assert (n_draws == period * n_steps).all()


@every_prior
@pytest.mark.parametrize("sampler", ["sparse", "dense"])
def test_candidates_come_from_the_conditional(prior, sampler):
    """Those of one document over many refreshes, in the order in which they are proposed, with the log q they have."""
    corpus, document, n_draws = TINY["short"], 2, 5
    start = np.array([0, 1, 0, 3 % prior[1], 3 % prior[1]])  # documents 1 and 2 share no word
    state = build_state(corpus, start, prior, sampler, "plain")
    sweeps = MetropolisSweeps(state, n_draws)
    widen(sweeps, n_draws)
    proposals, rng = sweeps.proposals, np.random.default_rng(2)
    expected = reference.conditional(corpus.counts, start, document, corpus.beta, with_names(prior))
    by_place = [Counter() for _ in range(n_draws + 1)]
    n_runs = 100 if INTERPRETED else 2000
    for _ in range(n_runs):
        put_into_slots(state, start, np.arange(prior[1]))
        refresh_one(state, sweeps, document, n_draws, rng)
        held = int(proposals.held[document])
        row = [held]
        for index in range(proposals.n_kept[document] + 1):
            row += [held] * proposals.gaps[document, index]
            if index < proposals.n_kept[document]:
                row.append(int(proposals.slots[document, index]))
                assert math.exp(proposals.log_q[document, index]) == pytest.approx(expected[row[-1]], rel=1e-9)
        for place, option in enumerate(row):
            by_place[place][option] += 1
        assert math.exp(proposals.log_q_held[document]) == pytest.approx(expected[held], rel=1e-9)
        assert proposals.log_q_own[document] == proposals.log_q_held[document]
        assert state.labels[document] == held
    for seen in by_place:
        assert reference.chi_square_p_value(seen, expected, n_runs) > 1e-4


def widen(sweeps: MetropolisSweeps, n_kept: int) -> None:
    """Give documents room for so many candidates."""
    n = sweeps.proposals.held.size
    sweeps.proposals = sweeps.proposals._replace(
        slots=np.zeros((n, n_kept), np.int32), log_q=np.zeros((n, n_kept)), gaps=np.zeros((n, n_kept + 1), np.int32)
    )


def refresh_one(state: GibbsState, sweeps: MetropolisSweeps, document: int, n_draws: int, rng) -> None:
    refresh(
        *state.for_kernels,
        sweeps.proposals,
        sweeps.alias,
        document,
        n_draws,
        rng.integers(2**63, dtype=np.uint64),
    )


# The posterior


def run_frozen(
    name: str, prior: tuple, sampler: str, n_sweeps: int, n_steps: int, n_runs: int
) -> tuple[Counter, float]:
    """Final outcomes of many independent runs, each from a draw of the posterior with frozen proposals; moves a run.

    Proposals are conditionals of another draw of the posterior. Slots are names that proposals go by, so both draws get
    them by chance, as a long run would have left them: exactness is that of (partition, names), all names being alike.
    """
    corpus = TINY[name]
    state = build_state(corpus, np.zeros(len(corpus.counts), int), prior, sampler, "plain")
    documents = np.flatnonzero(state.labels >= 0)
    expected = enumerated_posterior(name, prior)
    outcomes, shares = list(expected), np.array(list(expected.values()))
    n_slots = prior[1]
    sweeps = MetropolisSweeps(state, n_sweeps, n_steps)
    widen(sweeps, n_sweeps * n_steps)  # all candidates fit, so that none is left out for what it is
    rng = np.random.default_rng(11)
    log_q, seen, n_moved = np.empty((len(corpus.counts), n_slots + 1)), Counter(), 0

    def start() -> None:
        labels = np.full(len(corpus.counts), -1)
        labels[documents] = outcomes[rng.choice(len(outcomes), p=shares / shares.sum())]
        slots = np.arange(n_slots) if reference.is_labelled(prior) else rng.permutation(n_slots)
        put_into_slots(state, labels, slots)

    for _ in range(n_runs):
        start()
        for document in documents:
            row = log_q[document]
            log_weights(state.prepared.documents, state.clusters, state.model, state.prior, document, row)
            row -= np.logaddexp.reduce(row)
            refresh_one(state, sweeps, document, n_sweeps * n_steps, rng)
        start()
        sweeps.proposals.log_q_own[documents] = log_q[documents, state.labels[documents]]
        for _ in range(n_sweeps):
            n_moved += sweeps.sample(0, rng, ignore, frozen=True)[0]
        seen[reference.outcome(state.labels[documents], prior)] += 1
    return seen, n_moved / n_runs


@pytest.mark.parametrize(
    ("name", "prior_name", "sampler", "n_sweeps", "n_steps"),
    [
        ("short", "clusters differ", "auto", 16, 1),
        ("words differ", "clusters differ", "sparse", 8, 2),
        ("short", "finite, few clusters", "dense", 16, 1),
        ("wordless", "finite, few clusters", "auto", 8, 2),
        ("wordless", "finite, room left", "sparse", 16, 1),
    ],
)
def test_frozen_proposals_keep_the_posterior(name, prior_name, sampler, n_sweeps, n_steps):
    prior, n_runs = PRIORS[prior_name], 60 if INTERPRETED else 1200
    seen, n_moved = run_frozen(name, prior, sampler, n_sweeps, n_steps, n_runs)
    assert n_moved > 0.4
    assert reference.chi_square_p_value(seen, enumerated_posterior(name, prior), n_runs) > 1e-4


def chain(name: str, prior: tuple, period: int, n_steps: int, n_draws: int, thin: int) -> Counter:
    corpus = TINY[name]
    state = build_state(corpus, np.zeros(len(corpus.counts), int), prior, "auto", "plain")
    sweeps, rng, seen = MetropolisSweeps(state, period, n_steps), np.random.default_rng(4), Counter()
    has_words = state.labels >= 0
    for sweep in range(n_draws * thin):
        sweeps.sample(sweep, rng, ignore)
        if sweep % thin == thin - 1:
            seen[reference.outcome(state.labels[has_words], prior)] += 1
    return seen


@pytest.mark.parametrize(
    ("name", "prior_name"),
    [("short", "finite, few clusters"), ("wordless", "finite, room left"), ("words differ", "clusters differ")],
)
def test_with_a_period_of_one_it_is_a_gibbs_sampler(name, prior_name):
    prior, n_draws = PRIORS[prior_name], 200 if INTERPRETED else 2000
    seen = chain(name, prior, 1, 1, n_draws, 5)
    assert reference.chi_square_p_value(seen, enumerated_posterior(name, prior), n_draws) > 1e-4


@pytest.mark.skipif(INTERPRETED, reason="a distance takes many draws")
@pytest.mark.parametrize(
    ("name", "prior_name", "period"),
    [
        ("short", "finite, few clusters", 3),
        ("wordless", "finite, room left", 3),
        ("words differ", "clusters differ", 10),
        ("short", "finite, few clusters", 10),
        ("wordless", "finite, room left", 10),
    ],
)
def test_refreshed_proposals_stay_near_the_posterior(name, prior_name, period):
    seen = chain(name, PRIORS[prior_name], period, 1, 15_000, 1)
    assert reference.distance(seen, enumerated_posterior(name, PRIORS[prior_name])) < 0.1


# Statistics


@settings(max_examples=8 if INTERPRETED else 60)
@given(
    seed=st.integers(0, 2**31),
    n_documents=st.integers(1, 25),
    n_words=st.integers(1, 12),
    mean_length=st.sampled_from([0.7, 3, 20]),
    prior=st.sampled_from([*FINITE.values(), ("finite", 40, 50.0)]),
    sampler=st.sampled_from(SAMPLERS),
    period=st.integers(1, 9),
    n_steps=st.integers(1, 3),
    frozen=st.lists(st.booleans(), min_size=1, max_size=8),
)
def test_statistics_equal_a_recount_after_any_sweeps(
    seed, n_documents, n_words, mean_length, prior, sampler, period, n_steps, frozen
):
    corpus = random_corpus(seed, n_documents, n_words, mean_length, 0.1)
    state = build_state(corpus, random_labels(corpus, prior, seed), prior, sampler, "plain")
    sweeps, rng = MetropolisSweeps(state, period, n_steps), np.random.default_rng(seed)
    for sweep, is_frozen in enumerate(frozen):
        before = state.labels.copy()
        n_moved, n_refreshed = sweeps.sample(sweep, rng, ignore, frozen=is_frozen)
        assert_statistics_equal_a_recount(state)
        assert 0 <= n_refreshed <= state.n_documents
        if is_frozen:
            assert n_refreshed == 0
            assert n_moved == np.count_nonzero(before != state.labels)
    assert (state.labels[corpus.counts.any(axis=1)] >= 0).all()
    assert state.n_clusters <= state.prior.max_clusters


@every_prior
def test_what_follows_has_the_prior_that_was_before(prior):
    corpus = CORPORA["short"]
    state = build_state(corpus, random_labels(corpus, prior, 0), prior, "auto", "plain")
    before, log_joint = state.prior, state.log_joint()
    sweeps = MetropolisSweeps(state, 4)
    assert state.log_joint() == pytest.approx(log_joint, rel=1e-12)
    for sweep in range(3):
        sweeps.sample(sweep, np.random.default_rng(sweep), ignore)
    sweeps.finish()
    assert state.prior is before
    assert_statistics_equal_a_recount(state)


def test_whatever_others_change_is_forgotten():
    corpus, prior = CORPORA["short"], PRIORS["finite, few clusters"]
    state = build_state(corpus, random_labels(corpus, prior, 0), prior, "auto", "plain")
    sweeps, rng = MetropolisSweeps(state, 50), np.random.default_rng(0)
    for sweep in range(3):
        sweeps.sample(sweep, rng, ignore)
    state.sample(rng, ignore)
    state.lay_out()
    sweeps.discard()
    assert sweeps.sample(3, rng, ignore, frozen=True) == (0, 0)
    assert sweeps.sample(4, rng, ignore)[1] == state.n_documents
    assert sweeps.sample(5, rng, ignore)[1] < state.n_documents
    assert_statistics_equal_a_recount(state)


def test_documents_are_refreshed_in_turn():
    corpus, prior = random_corpus(0, 40, 20, 30, 0.1), ("finite", 2, 0.3)
    state = build_state(corpus, np.arange(40) % 2, prior, "auto", "plain")
    for sweep in range(5):
        state.sample(np.random.default_rng(sweep), ignore)
    sweeps, rng = MetropolisSweeps(state, 8), np.random.default_rng(0)
    assert sweeps.sample(0, rng, ignore)[1] == 40
    assert [sweeps.sample(sweep, rng, ignore)[1] for sweep in range(1, 5)] == [5, 5, 5, 5]


# The estimators


def topics(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(40, 0.1), 4)
    return np.array([rng.multinomial(12, words[d % 4]) for d in range(120)])


@pytest.mark.parametrize(
    "model",
    [
        DirichletMultinomialMixture(10, inference="metropolis", tol=0, n_sweeps=40),
        DirichletMultinomialMixture(10, np.linspace(0.1, 1, 10), inference="metropolis", tol=0, n_sweeps=40),
        DirichletProcessMixture(1.0, inference="metropolis", tol=0, n_sweeps=40),
        DirichletProcessMixture(1.0, inference="metropolis", tol=0, n_sweeps=40, switch=3),
    ],
    ids=["finite", "clusters differ", "process", "switch"],
)
def test_estimators_find_the_topics(model):
    counts = topics()
    model.fit(counts)
    assert model.inference_ == "metropolis"
    assert model.n_iter_ == 40
    n_refreshed = model.trace_["n_refreshed"]
    assert n_refreshed[0] == 120  # a Gibbs sweep
    assert (n_refreshed[-4:] == 0).all()  # frozen
    assert 0 < n_refreshed[10:36].mean() < 120
    assert 4 <= model.n_clusters_ <= 7
    assert len(set(model.labels_[:4])) == 4
    again = model.__class__(**model.get_params()).fit(counts)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_sweeps_go_on_frozen_after_levelling_off(monkeypatch):
    every_six = partial(MetropolisSettings, 6)
    monkeypatch.setattr("textmix.estimators.gibbs_mixture.MetropolisSettings", every_six)
    model = DirichletMultinomialMixture(10, inference="metropolis", n_sweeps=200).fit(topics())
    assert model.n_iter_ < 200
    assert model.converged_
    assert (model.trace_["n_refreshed"][-6:] == 0).all()
    assert model.trace_["n_refreshed"][-7] > 0


@pytest.mark.parametrize("switch", ["auto", 1])
def test_documents_without_words_are_no_obstacle(switch):
    settings = {"inference": "metropolis", "switch": switch}
    counts = np.vstack([topics(), np.zeros((2, 40), int)])
    assert (DirichletMultinomialMixture(10, **settings).fit(counts).labels_[-2:] == -1).all()
    assert set(DirichletMultinomialMixture(1, **settings).fit(topics()).labels_) == {0}


@pytest.mark.parametrize("switch", ["auto", 1])
def test_no_document_with_words_is_no_obstacle(switch):
    model = DirichletMultinomialMixture(3, inference="metropolis", switch=switch).fit(np.zeros((2, 3), int))
    assert model.n_clusters_ == 0
