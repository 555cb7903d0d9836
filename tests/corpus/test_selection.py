"""Selecting words by frequency and by variance, weighing them by log IDF."""

from __future__ import annotations

import gzip
import json
import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import check_estimator

from textmix import Corpus, FrequencySelector, LogIdfWeighting, VarianceSelector

TEXTS = ["tea milk milk", "tea rain", "tea rain sun", "tea", "tea sun wind", "tea sun"]
NAMES = ["milk", "rain", "sun", "tea", "wind"]  # as CountVectorizer sorts them
COUNTS = np.array(
    [
        [2, 0, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 1, 1],
        [0, 0, 1, 1, 0],
    ]
)
FREQUENCY = FrequencySelector(min_share=0.2, max_share=0.9)  # rain in 2 and sun in 3 of 6 documents
VARIANCE = VarianceSelector(n_words=2)  # milk 20/36, sun 9/36
WEIGHTING = LogIdfWeighting()


def twice_stored(counts):
    """CSR in which each word of a document stands twice, with a quarter and three quarters of its count."""
    once = scipy.sparse.csr_array(counts.astype(np.float64))
    data = np.repeat(once.data, 2) * np.tile([0.25, 0.75], once.nnz)
    return scipy.sparse.csr_array((data, np.repeat(once.indices, 2), 2 * once.indptr), shape=once.shape)


def with_stored_zeros(counts):
    everything = scipy.sparse.csr_array(np.ones_like(counts))
    everything.data = counts.ravel().copy()
    return everything


every = pytest.mark.parametrize("transformer", [FREQUENCY, VARIANCE, WEIGHTING], ids=["frequency", "variance", "idf"])
every_matrix = pytest.mark.parametrize(
    "make",
    [
        np.array,
        scipy.sparse.csr_array,
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_array,
        scipy.sparse.coo_array,
        lambda counts: counts.astype(np.int8),
        lambda counts: counts.astype(np.float32),
        twice_stored,
        with_stored_zeros,
    ],
    ids=["dense", "csr_array", "csr_matrix", "csc", "coo", "int8", "float32", "words stored twice", "stored zeros"],
)


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def random_counts(n_documents=40, n_words=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, size=n_words), size=(n_documents, n_words))


# The contract of scikit-learn


@pytest.mark.parametrize(
    "transformer",
    # The checks' data are nowhere 0: with the defaults no word is left of them.
    [FrequencySelector(), FrequencySelector(max_share=2), VarianceSelector(), LogIdfWeighting()],
    ids=["frequency", "all words", "variance", "idf"],
)
@pytest.mark.filterwarnings("ignore:no word is left", "ignore:No features were selected")
def test_check_estimator(transformer):
    check_estimator(transformer, on_skip=None)


@every
def test_clone_and_pickle(transformer):
    fitted = clone(transformer).fit(COUNTS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(COUNTS), fitted.transform(COUNTS))
    assert clone(fitted).get_params() == transformer.get_params()


@every
def test_before_a_fit_there_is_nothing(transformer):
    for given in (COUNTS, Corpus.from_counts(COUNTS)):
        with pytest.raises(NotFittedError):
            clone(transformer).transform(given)
    with pytest.raises(NotFittedError):
        clone(transformer).get_feature_names_out()


@every
@every_matrix
def test_every_kind_of_matrix_gives_the_same(transformer, make):
    expected = clone(transformer).fit_transform(COUNTS)
    given = make(COUNTS)
    found = clone(transformer).fit_transform(given)
    np.testing.assert_allclose(dense(found), expected)
    assert scipy.sparse.issparse(found) == scipy.sparse.issparse(given)


@every
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_a_sparse_result_is_of_the_kind_that_was_given(transformer, kind):
    assert type(clone(transformer).fit_transform(kind(COUNTS))) is kind


@every
@every_matrix
def test_the_input_is_left_alone_even_when_the_result_is_changed(transformer, make):
    given = make(COUNTS.astype(np.float64))
    before = pickle.loads(pickle.dumps(given))
    result = clone(transformer).fit(given).transform(given)
    if scipy.sparse.issparse(result):
        result.indices[:] = 0
        result.indptr[:] = 0
        result = result.data
    result[:] = -7
    parts = ("data", "indices", "indptr") if hasattr(given, "indptr") else ("data",)
    for part in parts:
        np.testing.assert_array_equal(getattr(given, part), getattr(before, part))


@pytest.mark.parametrize("transformer", [FREQUENCY, VARIANCE], ids=["frequency", "variance"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_selected_counts_keep_their_type(transformer, dtype):
    assert clone(transformer).fit_transform(scipy.sparse.csr_array(COUNTS, dtype=dtype)).dtype == dtype


@every
def test_faulty_input_is_refused(transformer):
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(transformer).fit(np.array([[1.0, value], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="expecting 5 features"):
        clone(transformer).fit(COUNTS).transform(COUNTS[:, :3])
    with pytest.raises(ValueError, match="0 sample"):
        clone(transformer).fit(np.empty((0, 3)))


@pytest.mark.parametrize(
    ("transformer", "setting"),
    [
        (FrequencySelector(min_share=-0.1), "min_share"),
        (FrequencySelector(min_share=1.1), "min_share"),
        (FrequencySelector(max_share=0), "max_share"),
        (FrequencySelector(max_share=float("nan")), "max_share"),
        (VarianceSelector(n_words=0), "n_words"),
        (VarianceSelector(n_words=2.5), "n_words"),
    ],
)
def test_faulty_settings_are_refused(transformer, setting):
    with pytest.raises(ValueError, match=setting):
        transformer.fit(COUNTS)


@pytest.mark.parametrize(
    ("transformer", "names"),
    [(FREQUENCY, ["rain", "sun"]), (VARIANCE, ["milk", "sun"]), (WEIGHTING, NAMES)],
    ids=["frequency", "variance", "idf"],
)
class TestNamesOfWords:
    def test_after_count_vectorizer_in_a_pipeline(self, transformer, names):
        pipeline = make_pipeline(CountVectorizer(), clone(transformer))
        assert pipeline.fit_transform(TEXTS).shape == (6, len(names))
        assert pipeline.get_feature_names_out().tolist() == names

    def test_of_a_data_frame(self, transformer, names):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(COUNTS, columns=NAMES, index=list("uvwxyz"))
        fitted = clone(transformer).fit(frame)
        assert fitted.get_feature_names_out().tolist() == names
        result = fitted.set_output(transform="pandas").transform(frame)
        assert (result.columns.tolist(), result.index.tolist()) == (names, list("uvwxyz"))
        np.testing.assert_array_equal(result, clone(transformer).fit_transform(COUNTS))

    def test_of_a_corpus(self, transformer, names):
        corpus = Corpus.from_counts(COUNTS, NAMES)
        assert clone(transformer).fit(corpus).get_feature_names_out().tolist() == names

    def test_given(self, transformer, names):
        fitted = clone(transformer).fit(COUNTS)
        assert fitted.get_feature_names_out(NAMES).tolist() == names
        assert fitted.get_feature_names_out()[0] in ("x0", "x1")
        with pytest.raises(ValueError, match="input_features"):
            fitted.get_feature_names_out(NAMES[:2])

    def test_of_a_corpus_are_forgotten_when_a_matrix_is_fitted(self, transformer, names):
        fitted = clone(transformer).fit(Corpus.from_counts(COUNTS, NAMES)).fit(COUNTS)
        assert fitted.get_feature_names_out()[0] in ("x0", "x1")


# A Corpus


@every
def test_a_corpus_is_transformed_like_its_counts(transformer):
    corpus = Corpus.from_texts(TEXTS)
    fitted = clone(transformer).fit(corpus)
    result = fitted.transform(corpus)
    assert isinstance(result, scipy.sparse.csr_array)
    expected = clone(transformer).fit(corpus.counts).transform(corpus.counts)
    np.testing.assert_array_equal(result.toarray(), expected.toarray())
    np.testing.assert_array_equal(clone(transformer).fit_transform(corpus).toarray(), expected.toarray())


@every
def test_new_texts_are_counted_by_the_corpus_and_transformed(transformer, recwarn):
    corpus = Corpus.from_texts(TEXTS, stop_words=None)
    fitted = clone(transformer).fit(corpus)
    result = fitted.transform(corpus.count(["sun sun", "nothing known"])).toarray()
    column = fitted.get_feature_names_out().tolist().index("sun")
    assert result[0, column] > 0
    assert np.count_nonzero(result) == 1
    assert not recwarn.list


@every
def test_a_corpus_with_other_words_is_refused(transformer):
    fitted = clone(transformer).fit(Corpus.from_counts(COUNTS, NAMES))
    with pytest.raises(ValueError, match=r"other columns.*count\(texts\)"):
        fitted.transform(Corpus.from_counts(COUNTS, NAMES[::-1]))
    same = fitted.transform(Corpus.from_counts(COUNTS, tuple(NAMES)))
    assert same.shape[0] == len(COUNTS)


# Frequency


@pytest.mark.parametrize("seed", range(5))
def test_words_between_the_two_shares_are_kept(seed):
    counts = random_counts(seed=seed)
    shares = [sum(count > 0 for count in column) / len(counts) for column in counts.T]
    kept = [column for column, share in enumerate(shares) if 0.1 < share < 0.4]
    selector = FrequencySelector(min_share=0.1, max_share=0.4).fit(scipy.sparse.csr_array(counts))
    assert 0 < len(kept) < counts.shape[1]
    assert selector.get_support(indices=True).tolist() == kept
    np.testing.assert_array_equal(selector.transform(counts), counts[:, kept])


def test_both_shares_are_exclusive():
    frequencies = [1, 2, 3, 149, 150, 151, 300, 301]
    counts = np.array([[row < frequency for frequency in frequencies] for row in range(2000)], dtype=np.int64)
    assert FrequencySelector().fit(counts).kept_.tolist() == [False, False, *[True] * 4, False, False]


def test_the_default_shares_are_those_of_the_paper():
    assert FrequencySelector().get_params() == {"min_share": 0.001, "max_share": 0.15}


def test_words_of_every_document_are_kept_by_a_share_above_one():
    assert FrequencySelector(0, 1).fit(COUNTS).kept_.tolist() == [True, True, True, False, True]
    assert FrequencySelector(0, 1.5).fit(COUNTS).kept_.all()


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_it_is_said_if_no_word_is_left(make):
    with pytest.warns(
        UserWarning, match=r"no word is left: none of 5 .* more than 0\.001 and less than 0\.15 of the 6"
    ):
        assert not FrequencySelector().fit(make(COUNTS)).kept_.any()
    with pytest.warns(UserWarning, match="lower min_share or raise max_share"):
        FrequencySelector(min_share=0.9, max_share=0.1).fit(make(COUNTS))


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_a_document_that_loses_all_words_keeps_its_row(make):
    for selector in (FREQUENCY, VARIANCE):
        selected = dense(clone(selector).fit_transform(make(COUNTS)))
        assert len(selected) == len(COUNTS)
        assert not selected[3].any()  # "tea"
        assert selected[2].any()


def test_back_in_all_columns_the_words_not_kept_are_zero():
    selector = clone(FREQUENCY).fit(COUNTS)
    back = selector.inverse_transform(selector.transform(scipy.sparse.csr_array(COUNTS)))
    np.testing.assert_array_equal(back.toarray(), COUNTS * [0, 1, 1, 0, 0])


# Variance


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_variances_are_numpys(seed, make):
    counts = random_counts(seed=seed)
    np.testing.assert_allclose(VarianceSelector().fit(make(counts)).variances_, counts.var(axis=0), atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_the_words_of_largest_variance_are_kept(seed):
    counts = random_counts(seed=seed) * 1.37
    selector = VarianceSelector(n_words=12).fit(counts)
    assert np.count_nonzero(selector.kept_) == 12
    assert counts.var(axis=0)[selector.kept_].min() >= counts.var(axis=0)[~selector.kept_].max() - 1e-12


def test_as_many_words_as_documents_are_kept_by_default():
    assert VarianceSelector().fit_transform(random_counts(n_documents=40, n_words=60)).shape == (40, 40)
    assert VarianceSelector().fit_transform(random_counts(n_documents=40, n_words=30)).shape == (40, 30)
    assert VarianceSelector(n_words=99).fit_transform(random_counts(n_documents=40, n_words=60)).shape == (40, 60)


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_among_words_that_vary_equally_the_first_columns_are_kept(make):
    """A word of n documents varies as one of N − n documents does; floats must not decide between them."""
    n_documents = 49
    for n in range(1, 24):
        sizes = [n_documents - n, n, n_documents - n, n]
        counts = np.array([[row < size for size in sizes] for row in range(n_documents)], dtype=np.int64)
        assert VarianceSelector(n_words=2).fit(make(counts)).kept_.tolist() == [True, True, False, False]
        np.testing.assert_array_equal(
            VarianceSelector(n_words=3).fit(make(counts[:, ::-1])).kept_, [True, True, True, False]
        )


def test_among_many_words_that_vary_equally_the_first_columns_are_kept():
    counts = np.eye(100, dtype=np.int64)
    counts[0, 70] = 2
    assert VarianceSelector(n_words=40).fit(counts).get_support(indices=True).tolist() == [*range(39), 70]


def test_a_constant_column_never_varies_less_than_nothing():
    # 5 Σx² − (Σx)² comes out as −1.8e-15.
    selector = VarianceSelector().fit(np.column_stack([np.full(5, 0.7), np.zeros(5), np.arange(5)]))
    assert selector.variances_.tolist() == [0.0, 0.0, 2.0]


# Weighting


def test_log_idf_is_the_log_of_documents_over_documents_with_the_word():
    weighting = LogIdfWeighting().fit(COUNTS)
    np.testing.assert_allclose(weighting.log_idf_, np.log([6 / 1, 6 / 2, 6 / 3, 6 / 6, 6 / 1]))
    np.testing.assert_allclose(weighting.transform(COUNTS)[0], [2 * np.log(6), 0, 0, 0, 0])


def test_words_of_no_document_weigh_nothing():
    weighting = LogIdfWeighting().fit([[1, 0], [0, 0]])
    assert weighting.log_idf_.tolist() == [np.log(2), 0.0]
    assert weighting.transform([[1, 3]]).tolist() == [[np.log(2), 0.0]]


def test_new_documents_are_weighed_by_the_fitted_ones():
    weighting = LogIdfWeighting().fit(COUNTS)
    new = scipy.sparse.csr_array([[0, 4, 0, 1, 0]])
    np.testing.assert_allclose(weighting.transform(new).toarray(), [[0, 4 * np.log(3), 0, 0, 0]])


def test_selected_weighted_vectors_have_unit_length_or_no_words():
    pipeline = make_pipeline(CountVectorizer(), clone(FREQUENCY), LogIdfWeighting(), Normalizer())
    lengths = np.sqrt((pipeline.fit_transform(TEXTS).toarray() ** 2).sum(axis=1))
    np.testing.assert_allclose(lengths, [0, 1, 1, 0, 1, 1])


# The paper's collections


# Zhong and Ghosh, Table 8: documents with words and words, selected by frequency; the same by variance.
TABLE_8 = {
    "classic": (7085, 3244, 7086, 7094),
    "ohscal": (11162, 5126, 11162, 11162),
    "k1b": (2340, 10337, 2340, 2340),
    "hitech": (2301, 9978, 2301, 2301),
    "reviews": (4069, 13840, 4069, 4069),
    "la1": (3204, 10930, 3204, 3204),
    "la12": (6279, 11153, 6279, 6279),
    "la2": (3075, 10546, 3075, 3075),
    "tr11": (414, 6030, 414, 414),
    "tr23": (204, 5277, 204, 204),
    "tr41": (878, 7244, 878, 878),
    "tr45": (690, 7882, 690, 690),
}


def read_counts(path):
    """The counts of a collection; columns by first occurrence."""
    columns, indices, data, row_ends = {}, [], [], [0]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            counts = json.loads(line)["counts"]
            indices += [columns.setdefault(word, len(columns)) for word in counts]
            data += counts.values()
            row_ends.append(len(indices))
    return scipy.sparse.csr_array((data, indices, row_ends), shape=(len(row_ends) - 1, len(columns)))


@pytest.mark.parametrize("name", TABLE_8)
def test_selection_leaves_what_table_8_says(real_data, name):
    counts = read_counts(real_data / f"{name}.jsonl.gz")
    found = []
    for selector in (FrequencySelector(), VarianceSelector()):
        selected = selector.fit_transform(counts)
        assert selected.shape[0] == counts.shape[0]
        found += [np.count_nonzero(selected.sum(axis=1)), selected.shape[1]]
    assert tuple(found) == TABLE_8[name]
