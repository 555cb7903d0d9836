"""EM against its slow twin: models, assignments, objectives, threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from textmix import BernoulliMixture, EDCMMixture, MultinomialMixture, VonMisesFisherMixture
from textmix.engines.threads import Threads, count_threads, threads
from textmix.inference.annealing import Constant, Course, Geometric, Rising
from textmix.inference.em import DocumentVectors, EMSettings, EMState, score
from textmix.inference.vectors import DenseVectors, SparseVectors, split_off_lone_words
from textmix.kernels import em as kernels
from textmix.models.bernoulli import Bernoulli
from textmix.models.components import SufficientStatistics
from textmix.models.edcm import EDCM
from textmix.models.multinomial import Multinomial
from textmix.models.von_mises_fisher import Directions, VonMisesFisher

SERIAL = Threads(None)


def random_counts(seed: int, n_documents: int = 12, n_words: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, (n_documents, n_words))
    counts[np.arange(n_documents), rng.integers(n_words, size=n_documents)] += 1
    return counts


def random_posteriors(seed: int, n_documents: int = 12, n_clusters: int = 3) -> np.ndarray:
    return np.random.default_rng(seed + 100).dirichlet(np.full(n_clusters, 0.7), n_documents)


def statistics_of(vectors: np.ndarray, posteriors: np.ndarray) -> SufficientStatistics:
    return SufficientStatistics(vectors.T.astype(float) @ posteriors, posteriors.sum(axis=0, keepdims=True))


def all_scores(vectors: np.ndarray, components) -> np.ndarray:
    documents = DocumentVectors(SparseVectors(scipy.sparse.csr_array(vectors.astype(float))))
    return score(documents, components, 0, len(vectors))


# The component models


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_bernoulli_is_equations_8_and_9(seed, smoothing):
    counts, posteriors = random_counts(seed), random_posteriors(seed)
    components = Bernoulli(smoothing).estimate(statistics_of(counts > 0, posteriors))
    scores = all_scores(counts > 0, components)
    log_prior = 0.0
    for cluster in range(3):
        expected = reference.bernoulli_parameters(counts, posteriors[:, cluster], smoothing)
        log_prior += smoothing * (np.log(expected) + np.log1p(-expected)).sum()
        for row, document in enumerate(counts):
            assert scores[row, cluster] == pytest.approx(
                reference.bernoulli_log_likelihood(document, expected), rel=1e-9, abs=1e-9
            )
    assert components.log_prior == pytest.approx(log_prior, rel=1e-9)


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_multinomial_is_equation_11(seed, smoothing):
    counts, posteriors = random_counts(seed), random_posteriors(seed)
    components = Multinomial(smoothing).estimate(statistics_of(counts, posteriors))
    scores = all_scores(counts, components)
    log_prior = 0.0
    for cluster in range(3):
        expected = reference.multinomial_parameters(counts, posteriors[:, cluster], smoothing)
        log_prior += smoothing * np.log(expected).sum()
        for row, document in enumerate(counts):
            assert scores[row, cluster] == pytest.approx(
                reference.multinomial_log_likelihood(document, expected), rel=1e-9, abs=1e-9
            )
    assert components.log_prior == pytest.approx(log_prior, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_von_mises_fisher_is_equation_16_at_the_maximum_of_its_likelihood(seed):
    counts, posteriors = random_counts(seed), random_posteriors(seed)
    directions = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    components = VonMisesFisher(max_kappa=1e4, dimension=7).estimate(statistics_of(directions, posteriors))
    scores = all_scores(directions, components)
    for cluster in range(3):
        sums = posteriors[:, cluster] @ directions
        mean = sums / np.linalg.norm(sums)
        kappa = components.scales[cluster] * np.linalg.norm(sums)
        for row, direction in enumerate(directions):
            assert scores[row, cluster] == pytest.approx(
                reference.log_von_mises_fisher(direction, mean, kappa), rel=1e-9, abs=1e-9
            )

        def log_likelihood(kappa, mean=mean, shares=posteriors[:, cluster]):
            densities = [reference.log_von_mises_fisher(direction, mean, kappa) for direction in directions]
            return shares @ np.array(densities)

        assert log_likelihood(kappa) >= max(log_likelihood(kappa * 1.001), log_likelihood(kappa / 1.001))


@pytest.mark.parametrize("seed", range(3))
def test_one_kappa_for_all_scores_cosines(seed):
    counts, posteriors = random_counts(seed), random_posteriors(seed)
    directions = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    sums = directions.T @ posteriors
    expected = directions @ (sums / np.linalg.norm(sums, axis=0))
    scores = all_scores(directions, Directions().estimate(statistics_of(directions, posteriors)))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def edcm_state(counts: np.ndarray, posteriors: np.ndarray, smoothing: float):
    lengths, rows = np.unique(counts.sum(axis=1), return_inverse=True)
    masses = np.zeros((lengths.size, posteriors.shape[1]))
    np.add.at(masses, rows, posteriors)
    model = EDCM(smoothing, lengths.astype(float))
    components = model.estimate(SufficientStatistics((counts > 0).T.astype(float) @ posteriors, masses))
    documents = DocumentVectors(SparseVectors(scipy.sparse.csr_array((counts > 0).astype(float))), rows, lengths.size)
    return components, score(documents, components, 0, len(counts))


@pytest.mark.parametrize("seed", range(3))
def test_edcm_scores_are_elkans_probability(seed):
    counts, posteriors = random_counts(seed), random_posteriors(seed)
    components, scores = edcm_state(counts, posteriors, 0.01)
    for cluster in range(3):
        beta = np.exp(components.weights[:, cluster])
        for row, document in enumerate(counts):
            n = document.sum()
            left_out = np.log(n) - np.log(document[document > 0]).sum()  # n!/Γ(n) = n
            assert scores[row, cluster] + left_out == pytest.approx(
                reference.edcm_log_likelihood(document, beta), rel=1e-9, abs=1e-9
            )


@pytest.mark.parametrize("seed", range(3))
def test_edcm_is_estimated_at_the_maximum_of_its_posterior(seed):
    counts, posteriors = random_counts(seed, n_documents=30), random_posteriors(seed, n_documents=30)
    components, _ = edcm_state(counts, posteriors, 0.05)
    rng = np.random.default_rng(seed)
    for cluster in range(3):
        shares, beta = posteriors[:, cluster], np.exp(components.weights[:, cluster])

        def log_posterior(beta, shares=shares):
            densities = np.array([reference.edcm_log_likelihood(document, beta) for document in counts])
            return shares @ densities + 0.05 * np.log(beta).sum()

        best = log_posterior(beta)
        for _ in range(20):
            assert log_posterior(beta * np.exp(rng.normal(0, 0.01, beta.size))) < best + 1e-9
        assert log_posterior(beta * 1.01) < best
        assert log_posterior(beta / 1.01) < best


def test_edcm_without_repeated_words_becomes_a_multinomial():
    counts = np.eye(6, dtype=int)[:, [0, 1, 2, 3, 4, 5]] + np.eye(6, dtype=int)[[1, 2, 3, 4, 5, 0]]
    components, _ = edcm_state(counts, np.ones((6, 1)), 0.01)
    assert np.exp(components.weights).sum() == pytest.approx(1e5)


# Assignment


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 40.0])
def test_posteriors_and_objective_are_equations_3_and_7(sharpness):
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(-30, 10, (9, 4)), rng.dirichlet(np.ones(4))
    found, labels, log_sums = scores.copy(), np.empty(9, np.int32), np.empty(9)
    kernels.to_posteriors(found, np.log(weights), sharpness, labels, log_sums)
    for row in range(9):
        np.testing.assert_allclose(found[row], reference.cluster_posterior(scores[row], weights, sharpness), rtol=1e-9)
    assert log_sums.sum() / sharpness == pytest.approx(reference.objective(scores, weights, sharpness), rel=1e-9)
    np.testing.assert_array_equal(labels, found.argmax(axis=1))


def test_drawn_labels_have_the_posterior_frequencies():
    posteriors = np.array([[0.1, 0.0, 0.6, 0.3]])
    uniforms = (np.arange(10_000) + 0.5) / 10_000
    labels = np.empty(10_000, np.int32)
    kernels.draw_labels(np.repeat(posteriors, 10_000, axis=0), uniforms, labels)
    np.testing.assert_allclose(np.bincount(labels, minlength=4) / 10_000, posteriors[0], atol=1e-12)


def test_a_uniform_number_beyond_the_rounded_sum_draws_the_last_cluster():
    labels = np.empty(1, np.int32)
    kernels.draw_labels(np.array([[0.5, 0.5 - 1e-12]]), np.array([1.0 - 1e-16]), labels)
    assert labels[0] == 1


def kernel_cases():
    rng = np.random.default_rng(3)
    matrix = scipy.sparse.random_array((40, 25), density=0.3, rng=rng, format="csr")
    rows = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data)
    columns = matrix.tocsc()
    by_column = (columns.indptr.astype(np.int64), columns.indices.astype(np.uint32), columns.data)
    labels = rng.integers(-1, 5, 40).astype(np.int32)
    scores = rng.normal(0, 5, (40, 5))
    posteriors = rng.dirichlet(np.ones(5), 40)
    return {
        "multiply": lambda: (*rows, rng_like((25, 5)), np.empty((30, 5)), np.empty(5), 4, 34),
        "sum_by_label": lambda: (*by_column, labels, np.full((25, 5), 7.0), np.empty(5), 2, 20),
        "split_entries": lambda: (
            *rows,
            np.where(np.arange(25) % 3 == 0, -1, np.arange(25)).astype(np.int32),
            np.zeros(41, np.int64),
            np.zeros(matrix.nnz, np.int32),
            np.zeros(matrix.nnz),
            np.zeros(matrix.nnz, np.int64),
            np.zeros(matrix.nnz, np.int64),
        ),
        "sum_of_squares": lambda: (scores.copy(), np.zeros(5)),
        "choose_best": lambda: (scores.copy(), np.empty(40, np.int32), np.empty(40)),
        "to_posteriors": lambda: (scores.copy(), np.log(posteriors[0]), 1.7, np.empty(40, np.int32), np.empty(40)),
        "draw_labels": lambda: (posteriors, np.random.default_rng(5).random(40), np.empty(40, np.int32)),
    }


def rng_like(shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(9).normal(size=shape)


@pytest.mark.parametrize("name", kernel_cases())
def test_compiled_kernels_do_what_python_does(name):
    function, compiled, interpreted = getattr(kernels, name), kernel_cases()[name](), kernel_cases()[name]()
    function(*compiled)
    getattr(function, "py_func", function)(*interpreted)
    for ours, theirs in zip(compiled, interpreted, strict=True):
        # exp and log may differ in the last digit from one library to another
        np.testing.assert_allclose(ours, theirs, rtol=1e-12 if name == "to_posteriors" else 0, atol=0)


def test_products_are_those_of_dense_matrices():
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((30, 50), density=0.2, rng=rng, format="csr")
    sparse, dense = SparseVectors(matrix), DenseVectors(matrix.toarray())
    weights, posteriors = rng.normal(size=(50, 3)), rng.dirichlet(np.ones(3), 30)
    labels = rng.integers(-1, 3, 30).astype(np.int32)
    membership = (labels[:, np.newaxis] == np.arange(3)).astype(float)
    for vectors in (sparse, dense):
        np.testing.assert_allclose(vectors.scores(weights, 5, 20), (matrix.toarray() @ weights)[5:20], rtol=1e-12)
        np.testing.assert_allclose(
            vectors.sum_posteriors(posteriors, np.float64, SERIAL),
            matrix.toarray().T @ posteriors,
            rtol=1e-12,
            atol=1e-15,
        )
        np.testing.assert_allclose(
            vectors.sum_labels(labels, 3, np.float64, SERIAL), matrix.toarray().T @ membership, rtol=1e-12, atol=1e-15
        )


# The loop


@pytest.mark.parametrize(
    ("schedule", "levels"),
    [(Constant(1.0), [1.0]), (Rising(20.0), [20.0, 40.0, 60.0]), (Geometric(0.5, 1.3, 0.8), [0.5, 0.65, 0.8])],
)
def test_schedules(schedule, levels):
    assert schedule.levels(3) == pytest.approx(levels)


@pytest.mark.parametrize(("schedule", "n"), [((0.002, 1.2, 1.0), 36), ((0.5, 1.3, 200.0), 24), ((1.0, 1.1, 500.0), 67)])
def test_the_papers_annealing_schedules_end_where_they_should(schedule, n):
    levels = Geometric(*schedule).levels(20)
    assert (levels[0], levels[-1], len(levels)) == (schedule[0], schedule[2], n)
    assert np.all(np.diff(levels) > 0)


def test_annealing_goes_on_when_it_has_settled_or_after_max_iter():
    course = Course(Geometric(1.0, 2.0, 4.0), max_iter=3, tol=0.1)
    seen = []
    for objective in (10.0, 20.0, 30.0, 5.0, 5.1, 1.0, 1.5, 1.51):  # never settles; settles; settles by its rise
        assert not course.done
        seen.append((course.sharpness, course.at_new_level))
        course.advance(objective)
    assert seen[:3] == [(1.0, True), (1.0, False), (1.0, False)]
    assert seen[3:5] == [(2.0, True), (2.0, False)]
    assert seen[5:] == [(4.0, True), (4.0, False), (4.0, False)]
    assert course.done


def test_a_run_settles_by_its_rise_whatever_constant_the_objective_has():
    for constant in (0.0, -1e9):
        course = Course(Constant(1.0), max_iter=20, tol=0.01)
        for objective, done in ((0.0, False), (50.0, False), (99.0, False), (99.5, True)):
            course.advance(constant + objective)
            assert course.done is done


MODELS = {
    "bernoulli": lambda **settings: BernoulliMixture(4, **settings),
    "multinomial": lambda **settings: MultinomialMixture(4, **settings),
    "normalised": lambda **settings: MultinomialMixture(
        4, normalized_likelihood=True, normalized_counts=True, smoothing=0.05, **settings
    ),
    "vmf": lambda **settings: VonMisesFisherMixture(4, kappa=25.0, weighting=None, **settings),
    "edcm": lambda **settings: EDCMMixture(4, **settings),
}


def assert_never_falls(trace, at_fixed_temperature=False):
    objective, sharpness = trace["objective"], trace["sharpness"]
    for before, after in zip(range(len(objective) - 1), range(1, len(objective)), strict=True):
        if trace["n_reseeded"][after] == 0 and (not at_fixed_temperature or sharpness[before] == sharpness[after]):
            assert objective[after] >= objective[before] - 1e-9 * max(1.0, abs(objective[before]))


@pytest.mark.filterwarnings("ignore:.*hold no document")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("assignment", ["hard", "soft"])
@given(seed=st.integers(0, 10**6), n_documents=st.integers(4, 40), n_words=st.integers(2, 15))
@settings(max_examples=25)
def test_the_objective_never_falls(model, assignment, seed, n_documents, n_words):
    counts = random_counts(seed, n_documents, n_words)
    fitted = MODELS[model](assignment=assignment, tol=0, max_iter=12, random_state=seed).fit(counts)
    assert_never_falls(fitted.trace_)


@pytest.mark.filterwarnings("ignore:.*hold no document")
@pytest.mark.parametrize("model", ["bernoulli", "normalised", "vmf", "edcm"])
@given(seed=st.integers(0, 10**6), n_documents=st.integers(4, 40), n_words=st.integers(2, 15))
@settings(max_examples=15)
def test_at_a_fixed_temperature_the_annealed_objective_never_falls(model, seed, n_documents, n_words):
    counts = random_counts(seed, n_documents, n_words)
    schedule = (0.5, 2.0, 8.0)
    estimator = MODELS[model](assignment="annealed", schedule=schedule, tol=0, max_iter=6, random_state=seed)
    if model == "vmf":
        estimator.set_params(kappa="scheduled")  # by the schedule, each κ held until max_iter
    fitted = estimator.fit(counts)
    assert_never_falls(fitted.trace_, at_fixed_temperature=True)


@pytest.mark.filterwarnings("ignore:.*hold no document")
@pytest.mark.parametrize("weights", ["uniform", "learned"])
@pytest.mark.parametrize("model", ["bernoulli", "multinomial", "edcm"])
def test_the_trace_holds_the_objective_of_the_papers(model, weights):
    """The objective at the end, computed by the reference from the fitted parameters."""
    counts = random_counts(5, 30, 8)
    fitted = MODELS[model](assignment="soft", weights=weights, random_state=1).fit(counts)
    parameters = fitted.components_
    likelihood = {
        "bernoulli": reference.bernoulli_log_likelihood,
        "multinomial": reference.multinomial_log_likelihood,
        "edcm": reference.edcm_log_likelihood,
    }[model]
    values = np.array([[likelihood(document, row) for row in parameters] for document in counts])
    log_likelihood = reference.objective(values, fitted.cluster_weights_, 1.0)
    assert fitted.score(counts) == pytest.approx(log_likelihood / len(counts), rel=1e-9)
    log_prior = {
        "bernoulli": (np.log(parameters) + np.log1p(-parameters)).sum() if model == "bernoulli" else 0.0,
        "multinomial": np.log(parameters).sum(),
        "edcm": 0.01 * np.log(parameters).sum(),
    }[model]
    if model == "edcm":  # its objective leaves out what is the same in every cluster
        log_likelihood -= np.log(counts.sum(axis=1)).sum() - np.log(counts[counts > 0]).sum()
    assert fitted.objective_ == fitted.trace_["objective"][-1]
    assert fitted.objective_ == pytest.approx(log_likelihood + log_prior, rel=1e-9)


def test_the_learned_kappas_likelihood_rises():
    counts = random_counts(3, 60, 12)
    trace = VonMisesFisherMixture(3, kappa="learned", tol=0, random_state=0).fit(counts).trace_
    assert trace["objective"][-1] > trace["objective"][0]
    assert_never_falls(trace)


@pytest.mark.parametrize("learned", [True, False])
def test_weights_are_mean_posteriors_or_equal(learned):
    """Zhong and Ghosh, eq. 5."""
    counts = scipy.sparse.csr_array(random_counts(4).astype(float))
    labels = np.array([0] * 7 + [1] * 3 + [2] * 2, np.int32)
    settings_ = EMSettings(3, "soft", Constant(1.0), learned, 1, 0.0)
    state = EMState(DocumentVectors(SparseVectors(counts)), Multinomial(1.0), labels, settings_, SERIAL)
    state.estimate(1.0)
    expected = np.array([7, 3, 2]) / 12 if learned else np.full(3, 1 / 3)
    np.testing.assert_allclose(np.exp(state.mixture.log_weights), expected)
    state.assign()
    state.estimate(1.0)
    expected = state.posteriors.mean(axis=0) if learned else np.full(3, 1 / 3)
    np.testing.assert_allclose(np.exp(state.mixture.log_weights), expected)


# Threads


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without compilation")
@pytest.mark.parametrize("assignment", ["hard", "stochastic", "soft", "annealed"])
def test_results_do_not_depend_on_n_jobs(assignment):
    rng = np.random.default_rng(0)  # several blocks of documents and of words
    counts = scipy.sparse.random_array((3000, 9000), density=0.002, rng=rng, data_sampler=lambda size: np.ones(size))
    for make in (BernoulliMixture, MultinomialMixture, VonMisesFisherMixture, EDCMMixture):
        one = make(5, assignment=assignment, max_iter=3, random_state=0).fit(counts)
        several = make(5, assignment=assignment, max_iter=3, random_state=0, n_jobs=3).fit(counts)
        np.testing.assert_array_equal(one.labels_, several.labels_)
        np.testing.assert_array_equal(one.trace_["objective"], several.trace_["objective"])
        np.testing.assert_array_equal(one.probabilities_, several.probabilities_)


def test_blocks_come_in_order_from_threads():
    with threads(3) as engine:
        assert list(engine.map_blocks(lambda first, last: (first, last), 10, 4)) == [(0, 4), (4, 8), (8, 10)]


def test_n_jobs_counts_as_in_scikit_learn():
    assert count_threads(None) == count_threads(1) == 1
    assert count_threads(-1) >= 1
    assert count_threads(-10_000) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        count_threads(0)


@pytest.mark.parametrize("model", [Directions(), VonMisesFisher(1e4, 60)], ids=["one kappa", "a kappa each"])
@pytest.mark.parametrize("start", ["partition", "documents"])
def test_words_of_one_document_can_be_kept_apart(model, start):
    rng = np.random.default_rng(2)
    counts = np.hstack([random_counts(1, 30, 20), np.zeros((30, 40), int)])
    counts[rng.integers(30, size=39), np.arange(20, 59)] = rng.integers(1, 4, 39)  # the last word stands nowhere
    directions = scipy.sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    shared, lone = split_off_lone_words(directions, model.sums_type)
    assert shared.shape[1] + lone.words.size == 60
    labels = rng.integers(4, size=30).astype(np.int32)
    if start == "documents":
        labels[:] = -1
        labels[:4] = np.arange(4)
    settings_ = EMSettings(4, "hard", Constant(np.inf), False, 1, 0.0)
    whole = EMState(DocumentVectors(SparseVectors(directions)), model, labels.copy(), settings_, SERIAL)
    apart = EMState(DocumentVectors(SparseVectors(shared), lone_words=lone), model, labels.copy(), settings_, SERIAL)
    for _ in range(4):
        for state in (whole, apart):
            state.estimate(np.inf)
        np.testing.assert_allclose(apart.mixture.components.scales, whole.mixture.components.scales, rtol=1e-12)
        np.testing.assert_allclose(
            lone.put_back(apart.mixture.components.weights, apart.labels), whole.mixture.components.weights
        )
        assert apart.assign()[0] == pytest.approx(whole.assign()[0], rel=1e-12)
        np.testing.assert_array_equal(apart.labels, whole.labels)


def test_empty_clusters_get_a_document_of_the_largest():
    counts = scipy.sparse.csr_array(random_counts(0).astype(float))
    settings_ = EMSettings(4, "hard", Constant(np.inf), False, 1, 0.0)
    labels = np.array([0] * 9 + [1] * 3, np.int32)
    state = EMState(DocumentVectors(SparseVectors(counts)), Multinomial(1.0), labels, settings_, SERIAL)
    assert state.reseed(np.random.default_rng(0)) == 2
    assert np.bincount(labels).tolist() == [7, 3, 1, 1]
