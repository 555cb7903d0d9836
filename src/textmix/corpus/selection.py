"""Which words to keep, and how to weigh them: scikit-learn transformers of counts.

Each takes documents × words, sparse or dense, or a Corpus, and gives a matrix. A document that loses all of its words
keeps its row. After fitting to a Corpus, columns are named by its words.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from textmix.corpus.corpus import Corpus
from textmix.corpus.matrix import check_sparse, is_sparse


class _WordSelector(SelectorMixin, BaseEstimator):
    """Base of the two selectors."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def transform(self, X: Any) -> Any:
        """The columns of the words that are kept, in a new matrix."""
        check_is_fitted(self, "kept_")
        return super().transform(_counts_for(self, X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the words that are kept."""
        check_is_fitted(self, "kept_")
        return np.asarray(super().get_feature_names_out(_names_in(self, input_features)))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "kept_")
        return np.asarray(self.kept_)


class FrequencySelector(_WordSelector):
    """Keep the words that occur in more than `min_share` and less than `max_share` of all documents.

    Zhong and Ghosh 4.5, after Dhillon (2001). If no word is left, it warns.

    Parameters
    ----------
    min_share : float, default=0.001
        0 keeps the rarest words.
    max_share : float, default=0.15
        1 drops only the words of every document, a number above 1 none.

    Attributes
    ----------
    kept_ : array, one entry a word
        Whether it is kept.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_share": [Interval(Real, 0, 1, closed="both")],
        "max_share": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, min_share: float = 0.001, max_share: float = 0.15) -> None:
        self.min_share = min_share
        self.max_share = max_share

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count in how many documents each word occurs. y is ignored."""
        self._validate_params()
        counts = _checked(self, X, dtype="numeric")
        shares = document_frequencies(counts) / counts.shape[0]
        self.kept_ = (shares > self.min_share) & (shares < self.max_share)
        if not self.kept_.any():
            warnings.warn(
                f"no word is left: none of {shares.size} stands in more than {self.min_share:.6g} and less than "
                f"{self.max_share:.6g} of the {counts.shape[0]} documents; lower min_share or raise max_share",
                stacklevel=2,
            )
        return self


class VarianceSelector(_WordSelector):
    """Keep the words whose counts vary most: as many words as there are documents, or `n_words`.

    σ²_l = 1/N Σ_x x(l)² − (1/N Σ_x x(l))²   (Zhong and Ghosh 4.5). Among equals the first columns are kept.

    Parameters
    ----------
    n_words : int or None, default=None
        How many to keep; None: as many as documents. All are kept if there are no more.

    Attributes
    ----------
    variances_ : array, one entry a word
        σ²_l.
    kept_ : array, one entry a word
        Whether it is kept.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_words": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, n_words: int | None = None) -> None:
        self.n_words = n_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute each word's variance. y is ignored."""
        self._validate_params()
        counts = _checked(self, X, dtype=np.float64)
        n_documents, n_columns = counts.shape
        sums, squares = _column_sums(counts), _column_sums(counts.power(2) if is_sparse(counts) else counts**2)
        # N² σ² is a whole number for whole counts, so words that vary equally are equal here too.
        self.variances_ = np.maximum(n_documents * squares - sums**2, 0.0) / n_documents**2
        n_kept = n_documents if self.n_words is None else self.n_words
        self.kept_ = np.zeros(n_columns, np.bool_)
        self.kept_[np.argsort(-self.variances_, kind="stable")[:n_kept]] = True
        return self


class LogIdfWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply each word's counts by log(N / N_w): N documents, N_w of them with the word (Zhong and Ghosh 4.3).

    A word of every document weighs nothing, unlike in scikit-learn's TfidfTransformer, which adds 1 to the logarithm.
    Documents without words count in N. For vectors of unit length put scikit-learn's Normalizer after it.

    Attributes
    ----------
    log_idf_ : array, one entry a word
        Words of no document weigh 0.
    """

    def __sklearn_tags__(self) -> Tags:
        """Counts: sparse or dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count in how many documents each word occurs. y is ignored."""
        self.log_idf_ = log_idf(_checked(self, X, dtype="numeric"))
        return self

    def transform(self, X: Any) -> Any:
        """The weighted counts, in a new matrix."""
        check_is_fitted(self)
        counts = _counts_for(self, X)
        # Sparse counts are copied: weighted ones share their indices.
        counts = validate_data(self, counts, accept_sparse="csr", dtype=np.float64, copy=is_sparse(counts), reset=False)
        return weigh_words(counts, self.log_idf_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the words."""
        check_is_fitted(self)
        return np.asarray(super().get_feature_names_out(_names_in(self, input_features)))


def _checked(transformer: Any, X: Any, dtype: Any) -> Any:
    """X as a matrix to fit to; no word of a document is stored twice."""
    transformer._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
    counts = check_sparse(X.counts if isinstance(X, Corpus) else X)
    counts = validate_data(transformer, counts, accept_sparse="csr", dtype=dtype)
    if is_sparse(counts):
        counts = type(counts)(counts)  # whether its columns are in order is found out, not remembered
        if not counts.has_canonical_format:
            counts = counts.copy()
            counts.sum_duplicates()
    return counts


def _counts_for(transformer: Any, X: Any) -> Any:
    """X, or the counts of a Corpus, whose columns must be those that were fitted; sparse ones are checked."""
    if not isinstance(X, Corpus):
        return check_sparse(X)
    fitted = transformer._vocabulary
    if fitted is not None and fitted is not X.vocabulary and list(fitted) != list(X.vocabulary):
        raise ValueError(
            "this Corpus has other columns than the one that was fitted; count new texts by that one's count(texts)"
        )
    return check_sparse(X.counts)


def _names_in(transformer: Any, input_features: Any) -> Any:
    return transformer._vocabulary if input_features is None else input_features


def _column_sums(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()


def document_frequencies(X: Any) -> NDArray[np.int64]:
    """In how many documents each word occurs: counts of 0 do not."""
    if not is_sparse(X):
        return np.asarray(np.count_nonzero(X, axis=0))
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])


def log_idf(X: Any) -> NDArray[np.float64]:
    """log(N / N_w), 0 for words of no document."""
    frequencies, n_documents = document_frequencies(X), max(X.shape[0], 1)
    return np.asarray(np.log(n_documents / np.where(frequencies > 0, frequencies, n_documents)))


def weigh_words(X: Any, weights: NDArray[np.float64]) -> Any:
    """X with each column multiplied by its weight; a sparse result shares the indices of X."""
    if not is_sparse(X):
        return X * weights
    return type(X)((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape)
