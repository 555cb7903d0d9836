"""ConsensusMixture told something beforehand: known clusters, examples of them, weights, duplicates."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

import reference
from estimators.test_consensus_mixture import topics
from textmix import ConsensusMixture
from textmix.corpus.matrix import sum_by_cluster
from textmix.estimators.prior_knowledge import PriorKnowledge, count_once, know_identical
from textmix.inference import consensus, consensus_fit
from textmix.inference.known_clusters import GuidedDocuments
from textmix.inference.ordering import canonical_order
from textmix.inference.partition import SamplerSettings
from textmix.inference.progress import Progress
from textmix.inference.views import words
from textmix.priors.finite_dirichlet import finite_dirichlet


def known_of(labels, per_topic=2):
    """y that knows some documents of the first three topics, by name."""
    y = np.full(labels.size, None, dtype=object)
    for topic, name in enumerate(("apples", "pears", "plums")):
        y[np.flatnonzero(labels == topic)[:per_topic]] = name
    return y


@pytest.fixture(scope="module")
def guided():
    counts, labels = topics()
    y = known_of(labels)
    return ConsensusMixture(n_words=15).fit(counts, y), labels, y


def test_known_documents_are_in_their_cluster_and_others_join_them(guided):
    model, labels, y = guided
    assert sorted(model.known_clusters_) == ["apples", "pears", "plums"]
    assert len(set(model.known_clusters_.values())) == 3
    for topic, name in enumerate(("apples", "pears", "plums")):
        own = model.labels_ == model.known_clusters_[name]
        assert own[y == name].all()
        assert (labels[own] == topic).mean() > 0.9
        assert own[labels == topic].mean() > 0.9
    assert adjusted_rand_score(labels, model.labels_) > 0.9


def test_what_belongs_together_by_y_is_together_whatever_it_says():
    counts, labels = topics()
    y = np.full(labels.size, -1)
    y[:12] = 7  # documents of all topics
    y[12:24] = 8
    model = ConsensusMixture(n_words=15, n_runs=4).fit(counts, y)
    assert np.unique(model.labels_[:12]).tolist() == [model.known_clusters_["7"]]
    assert np.unique(model.labels_[12:24]).tolist() == [model.known_clusters_["8"]]
    assert model.known_clusters_["7"] != model.known_clusters_["8"]


@pytest.mark.parametrize("unknown", [-1, None, "", float("nan"), "-1"], ids=["-1", "None", "empty", "NaN", "'-1'"])
def test_where_nothing_is_known_y_changes_nothing(unknown):
    counts, _ = topics()
    y = np.full(counts.shape[0], unknown, dtype=object)
    guided, free = (ConsensusMixture(n_runs=3).fit(counts, given) for given in (y, None))
    np.testing.assert_array_equal(guided.labels_, free.labels_)
    assert guided.known_clusters_ == {}


def test_all_documents_may_be_known():
    counts, labels = topics()
    model = ConsensusMixture(n_runs=2).fit(counts, labels)
    assert adjusted_rand_score(labels, model.labels_) == 1.0


def test_identical_documents_follow_the_one_that_is_known():
    counts, labels = topics()
    counts = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[:1], counts[:1], counts[1:2])))
    y = np.append(known_of(labels), ["apart", None, None])  # of three that are identical one is known
    model = ConsensusMixture(n_runs=3).fit(counts, y)
    apart = model.known_clusters_["apart"]
    assert model.labels_[200] == apart
    assert y[0] is None
    assert model.labels_[[0, 201]].tolist() == [apart, apart]
    assert model.labels_[1] == model.labels_[202]


def test_documents_without_words_have_no_cluster_even_if_it_is_known():
    counts, labels = topics()
    counts = scipy.sparse.csr_array(scipy.sparse.vstack((counts, scipy.sparse.csr_array((2, 100), dtype=int))))
    y = np.append(known_of(labels), ["empty", "apples"])
    model = ConsensusMixture(n_runs=3).fit(counts, y)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert model.known_clusters_["empty"] == -1


@pytest.mark.parametrize("n_clusters", [3, 4, 9, 40])
def test_there_are_exactly_as_many_clusters_and_known_ones_stay_apart(n_clusters):
    counts, labels = topics()
    y = known_of(labels, per_topic=4)
    model = ConsensusMixture(n_clusters, n_runs=3).fit(counts, y)
    assert np.unique(model.labels_).tolist() == list(range(n_clusters))
    assert len(set(model.known_clusters_.values())) == 3
    for name, label in model.known_clusters_.items():
        assert (model.labels_[y == name] == label).all()


def test_fewer_clusters_than_are_known_is_told():
    counts, labels = topics()
    with pytest.warns(UserWarning, match="n_clusters is 2, but 3 clusters are known: some of them are merged"):
        model = ConsensusMixture(2, n_runs=2).fit(counts, known_of(labels))
    assert model.n_clusters_ == 2
    with pytest.raises(ValueError, match=r"only 199 can be kept apart, given what is known"):
        ConsensusMixture(200, n_runs=2).fit(counts, np.where(np.arange(200) < 2, 1, -1))


def test_cut_and_merged_follow_known_clusters(guided):
    model, _, y = guided
    assert len(set(model.cut(3)[[np.flatnonzero(y == name)[0] for name in model.known_clusters_]])) == 3
    merged = model.merged(4)
    for name, label in merged.known_clusters_.items():
        assert (merged.labels_[y == name] == label).all()


def test_examples_from_elsewhere_say_what_a_cluster_is():
    counts, labels = topics()
    others, other_labels = topics(seed=3)
    examples = {"apples": others[other_labels == 0][:4], "nobody's": np.eye(1, 100, 99, dtype=int)}
    model = ConsensusMixture(n_words=15).fit(counts, examples=examples)
    assert model.labels_.shape == (200,)
    own = model.labels_ == model.known_clusters_["apples"]
    assert (labels[own] == 0).mean() > 0.9
    assert own[labels == 0].mean() > 0.9
    np.testing.assert_array_equal(
        model.cluster_word_counts_.sum(axis=1),
        [counts.sum(axis=1)[model.labels_ == c].sum() for c in range(model.n_clusters_)],
    )


def test_known_clusters_hold_where_a_sample_forms_the_clusters(monkeypatch):
    counts, labels = topics(n_documents=600)
    monkeypatch.setattr(consensus_fit, "MAX_SAMPLED", 200)
    y = known_of(labels, per_topic=70)  # more than half of the sample
    y[np.flatnonzero(labels == 4)[:2]] = "apples"  # as the sampler would not have it
    model = ConsensusMixture(n_words=15).fit(counts, y)
    for name, label in model.known_clusters_.items():
        assert (model.labels_[y == name] == label).all()
    assert adjusted_rand_score(labels, model.labels_) > 0.9


def test_documents_of_weight_0_are_put_into_the_clusters_of_others():
    counts, labels = topics()
    rng = np.random.default_rng(0)
    weights = (rng.random(200) < 0.7).astype(float)
    model = ConsensusMixture(n_words=15).fit(counts, sample_weight=weights)
    assert (model.labels_ >= 0).all()
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert model.cluster_sizes_.sum() == 200
    # They have no say: whatever they are, the others' clusters are the same.
    shuffled = counts.toarray()
    zero = np.flatnonzero(weights == 0)
    shuffled[zero] = rng.permutation(shuffled[zero].ravel()).reshape(zero.size, -1)
    again = ConsensusMixture(n_words=15).fit(shuffled, sample_weight=weights)
    assert adjusted_rand_score(model.labels_[weights > 0], again.labels_[weights > 0]) == 1.0


def test_runs_see_documents_as_often_as_their_weights_say():
    counts, _ = topics()
    weights = np.where(np.arange(200) < 100, 1.0, 0.3)
    model = ConsensusMixture(n_runs=20).fit(counts, sample_weight=weights)
    seen = (model._fitted.votes.runs >= 0).mean(axis=0)
    assert (seen[:100] == 1.0).all()
    assert abs(seen[100:].mean() - 0.3) < 0.03


def test_runs_need_not_see_a_document_of_small_weight():
    counts, labels = topics()
    weights = np.where(np.arange(200) % 2 == 0, 0.02, 1.0)
    model = ConsensusMixture(n_words=15).fit(counts, sample_weight=weights)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert ((model.cluster_stabilities_ > 0) & (model.cluster_stabilities_ <= 1)).all()


def test_equal_weights_change_nothing():
    counts, _ = topics()
    weighted, free = (ConsensusMixture().fit(counts, sample_weight=weight) for weight in (np.full(200, 0.3), None))
    np.testing.assert_array_equal(weighted.labels_, free.labels_)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample_weight": [1, 2]}, "sample_weight has 2 weights, there are 200 documents"),
        ({"sample_weight": [-1.0] + [1.0] * 199}, "sample_weight has -1.0 at 0"),
        ({"sample_weight": [0] * 200}, "all weights in sample_weight are zero"),
        ({"sample_weight": [float("inf")] * 200}, "sample_weight has inf at 0"),
        ({"y": [1, 2, 3]}, "y has 3 labels, there are 200 documents"),
        ({"examples": {"a": np.ones((1, 7))}}, "has 7 features"),
        ({"examples": [np.ones((1, 100))]}, "examples must be"),
    ],
)
def test_mistakes_are_named(given, message):
    counts, _ = topics()
    with pytest.raises(ValueError, match=message):
        ConsensusMixture().fit(counts, **given)


def test_identical_documents_count_once_if_that_is_asked_for():
    counts, labels = topics()
    copies = np.repeat(np.arange(200), np.where(np.arange(200) == 5, 300, 1))
    many = counts[copies]
    once = ConsensusMixture(n_words=15, duplicates="once").fit(many)
    each = ConsensusMixture(n_words=15).fit(counts)
    # Labels are numbered by size, and document 5 makes its cluster the largest.
    assert adjusted_rand_score(once.labels_[np.unique(copies, return_index=True)[1]], each.labels_) == 1.0
    assert np.unique(once.labels_[copies == 5]).size == 1
    assert once.cluster_sizes_.sum() == 499
    assert adjusted_rand_score(labels[copies], once.labels_) > 0.9


def test_words_and_scores_count_identical_documents_once_sizes_all():
    counts, _ = topics()
    copies = np.repeat(np.arange(200), np.where(np.arange(200) == 5, 300, 1))
    firsts = np.unique(copies, return_index=True)[1]
    once = ConsensusMixture(n_words=15, duplicates="once").fit(counts[copies])
    expected = sum_by_cluster(counts, once.labels_[firsts], once.n_clusters_)
    np.testing.assert_array_equal(once.cluster_word_counts_.toarray(), expected.toarray())
    np.testing.assert_array_equal(once.cluster_sizes_, np.bincount(once.labels_))
    each = ConsensusMixture(n_words=15).fit(counts)
    np.testing.assert_allclose(once.outlier_scores_, each.outlier_scores_[copies], rtol=1e-6)
    np.testing.assert_allclose(sorted(once.merges_.costs), sorted(each.merges_.costs))
    fewer = [ConsensusMixture(3, n_words=15, duplicates="once").fit(counts[copies]).labels_, once.cut(3)]
    np.testing.assert_array_equal(*fewer)


def test_copies_in_two_known_clusters_count_once_in_each():
    counts, labels = topics()
    many = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[[0] * 6])))
    y = np.append(known_of(labels), ["apples"] * 3 + ["pears"] * 3)
    y[0] = "apples"
    model = ConsensusMixture(n_words=15, n_runs=3, duplicates="once").fit(many, y)
    counted = np.append(np.arange(200), 203)
    expected = sum_by_cluster(many[counted], model.labels_[counted], model.n_clusters_)
    np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), expected.toarray())


def test_of_identical_documents_those_that_are_known_count():
    counts = scipy.sparse.csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1], [1, 0], [0, 1]]))
    known = np.array([-1, 0, 0, -1, 1, -1], dtype=np.int32)
    assert count_once(counts, known, 1.0).tolist() == [False, True, False, True, True, False]
    assert count_once(counts, np.full(6, -1, np.int32), 1.0).tolist() == [True, False, False, True, False, False]


def test_the_same_on_any_number_of_threads(guided):
    model, labels, y = guided
    counts, _ = topics()
    weights = np.linspace(0, 2, labels.size)
    one, two = (
        ConsensusMixture(n_words=15, n_jobs=n, duplicates="once").fit(counts, y, weights).labels_ for n in (1, 3)
    )
    np.testing.assert_array_equal(one, two)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ConsensusMixture(n_words=15, n_jobs=1).fit(counts, y).labels_, model.labels_)


def contradicting(n_documents=200):
    """Documents and a y that has nothing to do with their words, and knows half of them."""
    counts, _ = topics(n_documents)
    rng = np.random.default_rng(5)
    return counts, np.where(rng.random(n_documents) < 0.5, rng.integers(4, size=n_documents), -1)


@pytest.mark.parametrize("most", [1000, 60], ids=["all seen", "a sample"])
@pytest.mark.parametrize("settings", [{}, {"n_clusters": 4}, {"n_clusters": 90}, {"duplicates": "once"}], ids=str)
def test_y_holds_even_against_the_words(monkeypatch, most, settings):
    monkeypatch.setattr(consensus_fit, "MAX_SAMPLED", most)
    counts, y = contradicting()
    counts = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[:50])))  # some known under another name
    y = np.append(y, np.where(np.arange(50) % 2 == 0, -1, (y[:50] + 1) % 4))
    model = ConsensusMixture(n_words=15, n_runs=3, **settings).fit(counts, y)
    found = {name: np.unique(model.labels_[y == int(name)]).tolist() for name in model.known_clusters_}
    assert found == {name: [label] for name, label in model.known_clusters_.items()}
    assert len(set(model.known_clusters_.values())) == len(model.known_clusters_) == 4
    if "n_clusters" in settings:
        assert model.n_clusters_ == settings["n_clusters"]


def test_runs_and_the_step_that_brings_them_together_keep_to_y(monkeypatch):
    counts, y = contradicting()
    order = canonical_order(counts, 1.0, y)
    fit, known = words.fit_partition, y[order][y[order] >= 0]
    n_parts = []

    def fit_and_look(counts, whole, start, beta, prior, settings, seed, progress, n_fixed=0):
        fitted = fit(counts, whole, start, beta, prior, settings, seed, progress, n_fixed)
        if n_fixed == 0:  # where sampling begins
            return fitted
        n_parts.append([np.unique(fitted.labels[-known.size :][known == group]).size for group in range(4)])
        return fitted

    monkeypatch.setattr(words, "fit_partition", fit_and_look)
    ConsensusMixture(n_words=15, n_runs=3, n_jobs=1).fit(counts, y)
    assert n_parts == [[1, 1, 1, 1]] * (3 + consensus.N_STARTS)


def test_copies_of_a_known_document_are_known_too():
    counts, y = contradicting()
    y[0] = 2
    many = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[[0] * 30])))
    model = ConsensusMixture(n_words=15, n_runs=3).fit(many, np.append(y, [-1] * 30))
    assert (model.labels_[200:] == model.known_clusters_["2"]).all()
    assert model.converged_


def test_what_is_identical_to_a_known_document_or_example_is_known_as_most_of_these_are():
    counts = scipy.sparse.csr_array(np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0], [1, 1]]))
    known = np.array([0, 1, 1, -1, -1, -1, 0, -1], dtype=np.int32)
    examples = scipy.sparse.csr_array(np.array([[0, 1]]))
    knowledge = PriorKnowledge(["a", "b", "c"], known, examples, np.array([2], dtype=np.int32), None)
    assert know_identical(counts, knowledge, 1.0).known.tolist() == [0, 1, 1, 1, 2, -1, 0, -1]


def test_what_is_foreign_to_all_known_clusters_stays_out_of_them():
    rng = np.random.default_rng(0)
    n_known, foreign_topics = 200, np.repeat(np.arange(10), 12)
    foreign = np.zeros((foreign_topics.size, 80), int)
    for row, topic in enumerate(foreign_topics):
        foreign[row, 8 * topic : 8 * (topic + 1)] = rng.multinomial(6, np.full(8, 1 / 8))
    counts = scipy.sparse.csr_array(
        scipy.sparse.block_diag((np.repeat(np.eye(n_known, dtype=int), 4, axis=1), foreign))
    )
    y = np.append(np.arange(n_known), np.full(len(foreign), -1))
    model = ConsensusMixture(n_runs=4).fit(counts, y)
    assert not set(model.labels_[n_known:].tolist()) & set(model.known_clusters_.values())
    assert adjusted_rand_score(foreign_topics, model.labels_[n_known:]) > 0.9


def test_the_log_joint_is_that_of_the_labels_also_where_documents_were_let_go():
    fitting, foreign = [3, 0, 1], [0, 3, 1]
    came = np.array([fitting, *[foreign] * 5, fitting])  # the last one is known, and one of six that came to it fits
    documents = GuidedDocuments(scipy.sparse.csr_array(came), np.zeros(1, np.int32), 1)
    greedy = SamplerSettings(0, 0.0, "auto", polish=True)
    found = words.fit_documents(
        documents, True, 0.1, finite_dirichlet(2, 0.1), greedy, seed=0, progress=Progress(shown=False)
    )
    assert found.labels.tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert found.log_joint == pytest.approx(reference.log_joint(came, found.labels, 0.1, ("finite", 2, 0.1)))
    assert not found.converged


def test_known_clusters_are_named_right_when_documents_are_split_off():
    counts = np.tile([30, 20, 10, 0, 0, 0], (6, 1))
    counts[np.arange(1, 6), np.arange(1, 6)] += 1
    y = [None, None, None, None, None, "A"]
    assert ConsensusMixture().fit(counts, y).labels_.tolist() == [0] * 6
    model = ConsensusMixture(6).fit(counts, y)
    assert model.n_clusters_ == 6
    assert model.known_clusters_["A"] == model.labels_[5]


def test_fit_predict_takes_what_fit_takes():
    counts, labels = topics()
    model = ConsensusMixture(n_runs=2)
    found = model.fit_predict(counts, known_of(labels), sample_weight=np.ones(200))
    np.testing.assert_array_equal(found, model.labels_)
    assert len(model.known_clusters_) == 3


def test_a_document_alone_in_a_known_cluster_is_no_outlier():
    counts = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 1, 1]])
    assert ConsensusMixture().fit(counts).outliers_.tolist() == [False, False, True]
    assert ConsensusMixture().fit(counts, [-1, -1, 5]).outliers_.tolist() == [False, False, False]


def test_a_document_whose_cluster_was_given_is_no_outlier_whatever_its_words():
    counts, labels = topics()
    y = known_of(labels)
    y[np.flatnonzero(labels == 4)[0]] = "apples"
    model = ConsensusMixture(n_words=15, n_runs=3, outlier_threshold=-100.0).fit(counts, y)
    np.testing.assert_array_equal(model.outliers_, [name is None for name in y])
    np.testing.assert_array_equal(model.merged(3).outliers_, model.outliers_)


def test_some_document_with_words_must_have_weight():
    with pytest.raises(ValueError, match="no document with words has a weight"):
        ConsensusMixture().fit([[1, 0], [0, 0]], sample_weight=[0, 1])


def test_of_copies_that_count_once_the_largest_weight_counts():
    counts, _ = topics()
    many = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[:1])))
    model = ConsensusMixture(n_runs=4, duplicates="once").fit(many, sample_weight=np.append(1e-9, np.ones(200)))
    assert (model._fitted.votes.runs >= 0).all()


def test_known_clusters_without_texts_are_not_among_those_asked_for():
    counts, _ = topics()
    counts = scipy.sparse.csr_array(scipy.sparse.hstack((counts, scipy.sparse.csr_array((200, 5), dtype=int))))
    nowhere = {str(i): np.eye(1, 105, 100 + i, dtype=int) for i in range(5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConsensusMixture(3, n_words=15, n_runs=3).fit(counts, examples=nowhere)
    assert model.n_clusters_ == 3
    assert set(model.known_clusters_.values()) == {-1}


def test_a_sample_that_has_no_word_in_common(monkeypatch):
    monkeypatch.setattr(consensus_fit, "MAX_SAMPLED", 10)
    assert ConsensusMixture(n_runs=2).fit(np.eye(30, dtype=int)).n_clusters_ == 30
