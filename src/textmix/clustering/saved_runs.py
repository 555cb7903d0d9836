"""Saved runs, loaded and checked: `load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from textmix.clustering.clustering import Clustering
from textmix.clustering.fitted_model import MODELS
from textmix.clustering.second_view import OWN, SecondView, restore_view
from textmix.clustering.text_store import TextsInMemory, TextsOnDisk, TextStore
from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.corpus.saved_files import inner_folder
from textmix.corpus.saved_values import check_entries, check_number, check_type
from textmix.estimators import ConsensusMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.results.folder import RUN_FILE, read_manifest
from textmix.results.mixture import NOT_STORED, FittedMixture
from textmix.results.mixture_values import check_unit
from textmix.results.run import CORPUS_FOLDER, COUNTS, MODEL_FOLDER, ON_DISK, read_own_vectors
from textmix.results.typical import KeptExamples


def load(
    folder: str | os.PathLike[str],
    *,
    tokenizer: Callable[[str], Iterable[str]] | None = None,
    encoder: Any = None,
) -> Clustering:
    """Load a saved clustering.

    If a tokenizer of your own split its texts, or an encoder of your own made their vectors, new texts need it again.
    """
    info = read_manifest(folder)
    folder = Path(folder)
    is_large = info.get(COUNTS) == ON_DISK
    corpus = Corpus.load(inner_folder(folder, CORPUS_FOLDER), tokenizer)
    fitted = FittedMixture.load(inner_folder(folder, MODEL_FOLDER))
    estimator = _make_estimator(fitted, folder)
    n_counted = 0 if is_large else fitted.labels.size
    if corpus.counts.shape != (n_counted, fitted.cluster_word_counts.shape[1]):
        raise ValueError(f'the model and the corpus in "{folder}" do not belong together; cluster again')
    estimator.restore(fitted, None if is_large else corpus.counts, corpus.vocabulary)
    seconds, n_clusters = info.get("seconds", {}), fitted.cluster_sizes.size
    if is_large:
        store: TextStore = TextsOnDisk(KeptExamples.load(folder, n_clusters, fitted.labels.size), folder)
    else:
        _check_statistics(estimator, corpus, fitted, folder)
        store = TextsInMemory(None, corpus.n_documents, folder)
    names = _read_names(info.get("names", {}), n_clusters, folder)
    view = _read_view(info, corpus, fitted, encoder, folder)
    return Clustering(estimator, corpus, store, seconds=seconds, info=info, names=names, view=view)


def _make_estimator(fitted: FittedMixture, folder: Path) -> Any:
    kinds = {model.__name__: model for model in MODELS.values()}
    if fitted.estimator not in kinds:
        raise ValueError(f'"{folder}" was saved with a model this textmix does not know: {fitted.estimator[:40]}')
    try:
        if NOT_STORED in fitted.parameters:
            raise ValueError(f"{NOT_STORED} is never saved")
        for name, value in fitted.parameters.items():
            if isinstance(value, int) and not isinstance(value, bool) and name != "random_state":
                check_number(name, value, -(2**62), 2**62, whole=True)
        estimator = kinds[fitted.estimator](**fitted.parameters)
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ValueError(f'the model in "{folder}" has settings that cannot be ({error}); cluster again') from error
    return estimator


def _check_statistics(estimator: PartitionMixture, corpus: Corpus, fitted: FittedMixture, folder: Path) -> None:
    """Raise ValueError unless the counts of the clusters are those of their documents: kernels subtract one from other.

    Costs a sum over all counts, up to 100 ns a stored one.
    """
    counts, labels = corpus.counts, fitted.labels
    try:
        check_unit(fitted.unit, counts)
        if not np.array_equal(labels < 0, corpus.empty_documents):
            raise ValueError("labels.npy must have −1 for the texts without words, and for no others")
        counted = labels
        if isinstance(estimator, ConsensusMixture):
            counted = estimator._labels_that_count(counts, labels, fitted.unit)
        expected, found = sum_by_cluster(counts, counted, fitted.cluster_sizes.size), fitted.cluster_word_counts
        same_words = np.array_equal(expected.indptr, found.indptr) and np.array_equal(expected.indices, found.indices)
        if not same_words or not np.allclose(expected.data, found.data, rtol=1e-9, atol=0.0):
            raise ValueError("its counts are not those of the texts of the clusters")
    except ValueError as error:
        raise ValueError(
            f'the model and the corpus in "{folder}" do not belong together ({error}); cluster again'
        ) from error


def _read_view(
    info: Mapping[str, Any], corpus: Corpus, fitted: FittedMixture, encoder: Any, folder: Path
) -> SecondView:
    """Where the vectors of new texts come from; words alone if the model has no vectors."""
    if fitted.vectors is None:
        return restore_view(None, corpus, None, encoder)
    try:
        check_type("views", info.get("views"), Mapping)
        described = info["views"].get("vectors")
        check_entries("views: vectors", described, str, int, NoneType)
        check_type("views: vectors: name", described.get("name"), str)
    except ValueError as error:
        raise ValueError(f'"{folder / RUN_FILE}" is damaged ({error}); cluster again') from error
    own = None
    if described["name"] == OWN:  # an earlier run may have left such a folder too
        own = read_own_vectors(folder, corpus.n_words, fitted.vectors.n_dimensions)
    return restore_view(described, corpus, own, encoder)


def _read_names(names: Mapping[str, str], n_clusters: int, folder: Path) -> dict[int, str]:
    """The names that were given to clusters, by label."""
    labels = {str(label): label for label in range(n_clusters)}
    for label in names:
        if label not in labels:
            raise ValueError(f'"{folder / RUN_FILE}" is damaged (it names a cluster {label[:40]!r}); cluster again')
    return {labels[label]: name for label, name in names.items()}
