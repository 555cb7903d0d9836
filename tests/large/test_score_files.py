"""Scores of shards in files, read back in the order of the documents."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import textmix
from textmix.corpus.shards import deal_out
from textmix.large import DiskCorpus
from textmix.large.run_files import Scorers, score_shard
from textmix.large.work_folder import ScoreFiles
from textmix.results.typical import Typicality
from textmix.results.words import ClusterWords


@pytest.mark.parametrize(("n_documents", "n_shards"), [(1, 1), (7, 3), (100, 7), (101, 64), (64, 64)])
def test_any_run_of_documents_is_read_in_order(tmp_path, n_documents, n_shards):
    values = np.random.default_rng(0).random((3, n_documents)).astype(np.float32)
    files = ScoreFiles(tmp_path, n_documents, n_shards)
    assert files.missing() == list(range(n_shards))
    for shard, own in enumerate(deal_out(values.T, n_shards)):
        files.write(shard, own.T)
    assert files.missing() == []
    for first in range(0, n_documents, 5):
        for last in {first, first + 1, min(first + 13, n_documents), n_documents}:
            scores, typicality = files.read(first, last)
            found = np.stack([scores.probabilities, scores.outlier_scores, typicality])
            np.testing.assert_array_equal(found, values[:, first:last])


def test_a_file_that_was_cut_off_is_missing(tmp_path):
    files = ScoreFiles(tmp_path, 10, 2)
    for shard in range(2):
        files.write(shard, np.zeros((3, 5), np.float32))
    path = tmp_path / "scores-0001.f4"
    path.write_bytes(path.read_bytes()[:-4])
    (tmp_path / "scores-0000.tmp").write_bytes(b"")
    assert files.missing() == [1]


def test_shards_are_scored_as_all_documents_are(tmp_path):
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.where(np.arange(90)[:, None] % 3 == np.arange(12) // 4, 0.8, 0.03))
    corpus = textmix.Corpus.from_counts(scipy.sparse.csr_array(counts))
    disk = DiskCorpus.from_corpus(tmp_path / "corpus", corpus)
    mixture = textmix.DirichletMultinomialMixture(10, n_sweeps=5).fit(disk).mixture_
    on_disk = disk.shard(0)
    entries = (on_disk.counts, on_disk.words.astype(np.int32), on_disk.row_starts)
    whole = scipy.sparse.csr_array(entries, shape=counts.shape)
    expected = mixture.scorer().score(whole, mixture.labels, mixture.n_identical)
    typicality = Typicality(ClusterWords(mixture.cluster_word_counts, mixture.beta)).score(whole, mixture.labels)
    found = score_shard(on_disk, Scorers.of(mixture), mixture.labels)
    np.testing.assert_allclose(found[0], expected.probabilities, rtol=1e-6)
    np.testing.assert_allclose(found[1], expected.outlier_scores, rtol=1e-6)
    np.testing.assert_array_equal(found[2], typicality)
    assert np.isnan(found[0][mixture.labels < 0]).all()
