"""Any estimator with any settings on any matrix: refused in one sentence, or fitted with numbers that add up."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from odd_matrices import make_counts, make_matrix

import textmix
from fuzz import check_refusal
from textmix.inference.layout import fixed_point_scale

_EM = {
    "n_clusters": [1, 2, 2, 5, 60],
    "assignment": ["hard", "stochastic", "soft", "annealed"],
    "max_iter": [1, 5],
    "n_init": [1, 2],
}
_COLLAPSED = {
    "n_sweeps": [0, 1, 3, 8],
    "sampler": ["auto", "sparse", "dense"],
    "inference": ["gibbs", "metropolis", "parallel"],
    "switch": ["auto", 1, 2],
    "polish": [True, False],
    "n_jobs": [1, 2],
    "alpha": [0.1, 1e-300, 1e6, "learn"],
    "beta": [0.1, 1e-9, 100.0, "learn"],
}
SETTINGS: dict[str, dict[str, list[Any]]] = {
    "BernoulliMixture": _EM | {"smoothing": [1.0, 1e-9]},
    "MultinomialMixture": _EM | {"smoothing": [1.0, 1e-9], "normalized_counts": [False, True]},
    "VonMisesFisherMixture": _EM | {"kappa": ["scheduled", "learned", 10.0], "weighting": ["auto", None]},
    "EDCMMixture": _EM,
    "FeaturePartitionMixture": {
        "max_clusters": [1, 3, 30],
        "inference": ["variational", "gibbs"],
        "partition": [True, False],
        "max_iter": [1, 5],
        "n_sweeps": [1, 5],
        "n_kept": [1, 3],
    },
    "DirichletMultinomialMixture": _COLLAPSED
    | {"n_clusters": [1, 2, 10, 1000], "init": ["random", "online"], "word_probabilities": ["means", "sampled"]},
    "DirichletProcessMixture": _COLLAPSED
    | {"n_start_clusters": [1, 2, 10, 5000], "max_clusters": [None, 1, 2, 20], "alpha": ["0.1n", 1.0, "5n", "learn"]},
    "ConsensusMixture": {
        "n_clusters": [None, 1, 2, 7, 500],
        "n_runs": [1, 2, 3],
        "n_sweeps": [1, 3],
        "n_start_clusters": [1, 2, 50],
        "n_words": [1, 40],
        "granularity": ["medium", 0.1, 5.0],
        "duplicates": ["all", "once"],
        "n_jobs": [1, 2],
    },
}
# Settings that do not go together, or not with so few documents; other refusals of healthy matrices are faults.
NOT_TOGETHER = re.compile(
    "documents with words should be >=|no document of X has a word|needs? inference=|does not go with"
    "|texts are different|may add up to"
)
_MOST = {"DirichletMultinomialMixture": "n_clusters", "DirichletProcessMixture": "max_clusters"}


def run_case(rng: np.random.Generator, folder: Path) -> str:
    name = str(rng.choice(list(SETTINGS)))
    settings = {key: values[rng.integers(len(values))] for key, values in SETTINGS[name].items() if rng.random() < 0.6}
    size = (5000, 20) if rng.random() < 0.02 else (None, None)
    matrix = make_matrix(rng, make_counts(rng, *size))
    settings["random_state"] = int(rng.integers(100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fit(name, settings, matrix, rng)


def _fit(name: str, settings: dict[str, Any], matrix: Any, rng: np.random.Generator) -> str:
    described = f"{name}({settings}) on {type(matrix.given).__name__} {matrix.counts.shape}"
    model = getattr(textmix, name)(**settings)
    try:
        model.fit(matrix.given)
    except ValueError as error:
        check_refusal(error)
        if not (matrix.must_be_refused or NOT_TOGETHER.search(str(error))):
            error.add_note(described)
            raise
        return "refused damage" if matrix.must_be_refused else "refused"
    assert not matrix.must_be_refused or _allows_negative(name, matrix.given), f"not refused: {described}"
    if matrix.must_be_refused:
        return "fitted negative numbers"
    check_fitted(model, matrix.counts, described)
    most = settings.get(_MOST.get(name, "")) if name in _MOST else None
    assert most is None or model.n_clusters_ <= most, f"{model.n_clusters_} clusters: {described}"
    check_predictions(model, matrix.given, described)
    if rng.random() < 0.2:
        again = getattr(textmix, name)(**settings).fit(matrix.given)
        assert (again.labels_ == model.labels_).all(), f"not the same twice: {described}"
    return "fitted"


def _allows_negative(name: str, given: Any) -> bool:
    values = given if isinstance(given, np.ndarray) else scipy.sparse.coo_array(given).data
    return name == "VonMisesFisherMixture" and bool(np.isfinite(values).all())


def check_fitted(model: Any, counts: np.ndarray, described: str) -> None:
    """Everything that a fitted model says, against a recount."""
    labels, n_clusters = model.labels_, model.n_clusters_
    assert labels.shape == (len(counts),), described
    weights = getattr(model, "log_idf_", None)  # 0 for words of every document
    says_something = counts if weights is None else counts[:, weights > 0]
    np.testing.assert_array_equal(labels < 0, ~says_something.any(axis=1), described)
    assert labels.min(initial=0) >= -1, described
    assert labels.max(initial=-1) < n_clusters, described
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    np.testing.assert_array_equal(model.cluster_sizes_, sizes, described)
    assert (np.diff(sizes) <= 0).all(), described
    if hasattr(model, "cluster_word_counts_"):
        parts = [counts[labels == cluster] for cluster in range(n_clusters)]
        if getattr(model, "duplicates", "all") == "once":
            parts = [_different(part, counts.sum()) for part in parts]
        expected = np.array([part.sum(axis=0) for part in parts])
        found = model.cluster_word_counts_
        found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-6, atol=0, err_msg=described)
    used = labels >= 0
    for attribute in ("probabilities_", "outlier_scores_"):
        values = np.asarray(getattr(model, attribute, np.zeros(len(counts))), dtype=float)[used]
        assert not np.isnan(values).any(), f"{attribute} of {described}"
    probabilities = np.asarray(model.probabilities_)[used]
    assert ((probabilities >= 0) & (probabilities <= 1 + 1e-9)).all(), described


def _different(rows: np.ndarray, total: float) -> np.ndarray:
    """The first of each kind of rows, as counts are told apart by samplers."""
    scale = fixed_point_scale(total, whole=False)
    return rows[np.unique(np.hstack((rows > 0, np.rint(rows * scale))), axis=0, return_index=True)[1]]


def check_predictions(model: Any, given: Any, described: str) -> None:
    """New documents, here the same ones, go to clusters there are."""
    labels = model.predict(given)
    assert labels.min(initial=0) >= -1, described
    assert labels.max(initial=-1) < model.n_clusters_, described
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(given))
        assert not np.isnan(shares[labels >= 0]).any(), f"predict_proba of {described}"
        np.testing.assert_allclose(shares[labels >= 0].sum(axis=1), 1.0, atol=1e-6, err_msg=described)
    if hasattr(model, "score_samples"):
        assert not np.isnan(model.score_samples(given)[labels >= 0]).any(), f"score_samples of {described}"
