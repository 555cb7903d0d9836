"""The synthetic collections and the cuts of the 20 Newsgroups."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import scipy.sparse

from textmix.datasets import (
    DIFFERENT,
    NEWSGROUPS_CUTS,
    SIMILAR,
    cut_newsgroups,
    make_partitioned,
    newsgroups_words,
)

# Synthetic documents


def test_a_partitioned_collection_has_the_sizes_asked_for():
    counts, labels, discriminative = make_partitioned(50, 80, 12, 4, discriminative_length=30, background_length=70)
    assert isinstance(counts, scipy.sparse.csr_array)
    assert counts.shape == (50, 80)
    assert counts.dtype.kind == "i"
    assert counts.data.min() > 0
    assert labels.shape == (50,)
    assert discriminative.dtype == bool
    assert discriminative.tolist() == [True] * 12 + [False] * 68
    np.testing.assert_array_equal(counts[:, :12].sum(axis=1), 30)
    np.testing.assert_array_equal(counts[:, 12:].sum(axis=1), 70)


def test_the_default_is_the_paper_s():
    counts, labels, discriminative = make_partitioned()
    assert counts.shape == (600, 2000)
    assert np.bincount(labels).tolist() == [100] * 6
    assert discriminative.sum() == 200
    np.testing.assert_array_equal(counts[:, :200].sum(axis=1), 200)
    np.testing.assert_array_equal(counts.sum(axis=1), 400)


@pytest.mark.parametrize(
    ("n_documents", "n_clusters", "sizes"), [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 5, [1, 1])]
)
def test_clusters_come_one_after_the_other_and_are_as_equal_as_can_be(n_documents, n_clusters, sizes):
    labels = make_partitioned(n_documents, 20, 5, n_clusters).labels
    assert labels.tolist() == sorted(labels)
    assert np.bincount(labels).tolist() == sizes


def test_clusters_differ_in_the_first_words_and_in_nothing_else():
    lengths = {"discriminative_length": 4000, "background_length": 4000}
    counts, labels, discriminative = make_partitioned(200, 40, 10, 2, **lengths, random_state=1)
    shares = np.array([counts[labels == cluster].sum(axis=0) for cluster in range(2)]) / (100 * 4000)
    differences = np.abs(shares[0] - shares[1])
    # Standard deviation of a difference: about sqrt(2 · 0.1 / 400,000) = 0.0007 at most.
    assert differences[~discriminative].max() < 0.003
    assert np.median(differences[discriminative]) > 0.01


def test_documents_of_a_cluster_have_one_distribution_and_all_words_occur():
    counts = make_partitioned(400, 40, 10, 1, discriminative_length=400, background_length=400).counts.toarray()
    first, second = counts[:200].sum(axis=0) / 160_000, counts[200:].sum(axis=0) / 160_000
    np.testing.assert_allclose(first, second, atol=0.005)
    assert (counts.sum(axis=0) > 0).sum() > 35
    assert np.std(counts[:, :10].sum(axis=0)) > 1000  # not all words are equally frequent


def test_the_seed_decides_what_is_drawn():
    def draw(random_state):
        return make_partitioned(30, 40, 10, 3, random_state=random_state).counts.toarray()

    np.testing.assert_array_equal(draw(5), draw(5))
    np.testing.assert_array_equal(draw(0), make_partitioned(30, 40, 10, 3).counts.toarray())
    np.testing.assert_array_equal(draw(np.random.default_rng(5)), draw(5))
    assert not np.array_equal(draw(5), draw(6))


def test_numpy_s_global_state_is_left_alone():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    make_partitioned(10, 20, 5, 2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_the_smallest_collections():
    counts, labels, discriminative = make_partitioned(1, 2, 1, 1, discriminative_length=3, background_length=5)
    assert counts.toarray().tolist() == [[3, 5]]
    assert labels.tolist() == [0]
    assert discriminative.tolist() == [True, False]
    no_own_words = make_partitioned(4, 6, 3, 2, discriminative_length=0, background_length=9)
    assert no_own_words.counts[:, :3].sum() == 0
    no_background = make_partitioned(4, 6, 3, 2, background_length=0)
    assert no_background.counts[:, 3:].sum() == 0
    assert make_partitioned(0, 6, 3, 2).counts.shape == (0, 6)


def test_all_words_may_be_discriminative():
    counts, _, discriminative = make_partitioned(4, 6, 6, 2, discriminative_length=9, background_length=0)
    assert counts.shape == (4, 6)
    assert discriminative.all()
    np.testing.assert_array_equal(counts.sum(axis=1), 9)


@pytest.mark.parametrize("n_discriminative", [0, -1, 21])
def test_an_impossible_number_of_discriminative_words_is_refused(n_discriminative):
    with pytest.raises(ValueError, match=r"n_discriminative must be 1 to n_words=20"):
        make_partitioned(10, 20, n_discriminative)


def test_a_background_without_words_is_refused():
    with pytest.raises(ValueError, match="background_length must be 0"):
        make_partitioned(10, 20, 20)


@pytest.mark.parametrize(
    "settings", [{"n_clusters": 0}, {"n_documents": -1}, {"discriminative_length": -1}, {"background_length": -1}]
)
def test_impossible_sizes_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        make_partitioned(**{"n_documents": 10, "n_words": 20, "n_discriminative": 5, **settings})


# Words of a post


def post(body, subject="Nothing", sender="someone@somewhere.org (Some One)"):
    return f"From: {sender}\nSubject: {subject}\nOrganization: Hidden Institute\nLines: 12\n\n{body}"


def test_of_the_headers_from_and_subject_count():
    words = newsgroups_words(post("The body itself", subject="Re: Shuttle launch"))
    assert words == ["some", "one", "shuttle", "launch", "the", "body", "itself"]


def test_lines_of_the_body_that_look_like_headers_stay():
    words = newsgroups_words(post("quoted text\n\nOrganization: Mine\nFrom: here"))
    assert words == ["some", "one", "nothing", "quoted", "text", "organization", "mine", "from", "here"]


def test_e_mail_addresses_are_no_words():
    body = "write to first.last+tag@mail-host.example.edu or <root@localhost> now"
    words = newsgroups_words(post(body, subject="mail bob@example.com please", sender="alice@example.com"))
    assert words == ["mail", "please", "write", "now"]


def test_uuencoded_lines_are_no_words():
    encoded = "M" + "ABCDE FGHIJ!" * 5
    assert len(encoded) == 61
    for line in (encoded, encoded[:60], encoded + "X"):
        assert newsgroups_words(post(f"before\n{line}\nafter")) == ["some", "one", "nothing", "before", "after"]
    for line in (encoded[:40], "N" + encoded[1:], encoded + "XYZ"):  # too short, of another length, too long
        assert "abcde" in newsgroups_words(post(f"before\n{line}\nafter"))
    assert "motherboard" in newsgroups_words(post("Motherboard " + "speaks in lower case letters " * 2))


def test_words_are_runs_of_three_letters_and_more_in_lower_case():
    assert newsgroups_words("Subject: x\n\nIt is A TEST, don't: x86 abc123def über end_of_line") == [
        "test",
        "don",
        "abc",
        "def",
        "ber",
        "end",
        "line",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "Organization: None at all", "From:\nSubject:\n\n", "no header"])
def test_a_post_without_words(text):
    assert newsgroups_words(text) == []


# Cuts


LETTERS = "abcdefghij"


def coin(number):
    """A made-up word for a number: no stop word, letters only."""
    return "zq" + "".join(LETTERS[int(digit)] for digit in f"{number:05d}")


def small_posts(groups, n=100, make_body=lambda group, index: ""):
    """n posts of each group that say nothing but their body."""
    texts, labels = [], []
    for group in groups:
        texts += [f"From: x\nSubject: y\n\n{make_body(group, index)}" for index in range(n)]
        labels += [group] * n
    return texts, labels


@pytest.mark.parametrize(("cut", "groups"), [("News-different-3", DIFFERENT), ("News-similar-3", SIMILAR)])
def test_the_small_sets_are_a_hundred_posts_of_each_of_three_groups(cut, groups):
    texts, labels = small_posts([*groups, "misc.forsale"], 120, lambda group, index: group.replace(".", " "))
    counts, found, vocabulary = cut_newsgroups(texts, labels, cut)
    assert counts.shape == (300, len(vocabulary))
    assert found.tolist() == [group for group in groups for _ in range(100)]
    assert isinstance(vocabulary, list)
    assert vocabulary == sorted(vocabulary)
    assert "forsale" not in vocabulary


def test_posts_of_the_small_sets_are_drawn_without_replacement_by_the_seed():
    texts, labels = small_posts(DIFFERENT, 150, lambda group, index: f"{coin(index)} " * (index + 1))

    def lengths(random_state):
        drawn = cut_newsgroups(texts, labels, "News-different-3", random_state=random_state)
        return drawn.counts, np.asarray(drawn.counts.sum(axis=1))

    one, again, other = lengths(3), lengths(3), lengths(4)
    assert (one[0] != again[0]).nnz == 0
    assert one[0].shape != other[0].shape or (one[0] != other[0]).nnz > 0
    for group in range(3):  # a post of index i has i + 1 words, all the same
        known = one[1][100 * group : 100 * group + 100]
        known = known[known > 0]
        assert np.unique(known).size == known.size


def test_words_of_the_small_sets_stand_in_3_to_100_posts():
    spread = {coin(n): n for n in (1, 2, 3, 99, 100, 101, 300)}
    texts, labels = small_posts(DIFFERENT)
    for word, n in spread.items():
        for row in range(n):
            texts[row] += f" {word} {word} the and"
    counts, _, vocabulary = cut_newsgroups(texts, labels, "News-different-3")
    assert vocabulary == [coin(3), coin(99), coin(100)]
    assert counts.sum(axis=0).tolist() == [6, 198, 200]
    assert counts.max() == 2


def long_posts():
    """Three posts of 30, 35 and 29 words, and one without any."""
    common = " ".join(coin(i) for i in range(27))
    return [
        f"From: x\nSubject: y\n\n{common} the the {coin(100)}",
        f"From: x\nSubject: y\n\n{common} the the {coin(100)} {coin(0)} {coin(0)} {coin(0)} {coin(0)} {coin(200)}",
        f"From: x\nSubject: y\n\n{common} the {coin(200)}",
        "From: x\nSubject: y\n\n",
    ]


def test_the_large_sets_leave_out_posts_of_fewer_than_thirty_words():
    for cut in ("News-all-20", "News-complete-20"):
        counts, labels, _ = cut_newsgroups(long_posts(), ["a", "b", "c", "d"], cut)
        assert labels.tolist() == ["a", "b"]
        assert counts.shape[0] == 2


def test_words_of_one_post_that_is_kept_do_not_count():
    _, _, vocabulary = cut_newsgroups(long_posts(), ["a", "b", "c", "d"], "News-all-20")
    assert vocabulary == sorted([*(coin(i) for i in range(27)), coin(100)])


def test_stop_words_stay_in_the_complete_set_only():
    without = cut_newsgroups(long_posts(), list("abcd"), "News-all-20")
    complete = cut_newsgroups(long_posts(), list("abcd"), "News-complete-20")
    assert set(complete.vocabulary) - set(without.vocabulary) == {"the"}
    assert complete.counts[:, [complete.vocabulary.index("the")]].toarray().ravel().tolist() == [2, 2]


def test_counts_are_those_of_the_posts():
    counts, _, vocabulary = cut_newsgroups(long_posts(), list("abcd"), "News-complete-20")
    assert isinstance(counts, scipy.sparse.csr_array)
    assert counts.has_sorted_indices
    assert counts[:, [vocabulary.index(coin(0))]].toarray().ravel().tolist() == [1, 5]
    assert counts.sum(axis=1).tolist() == [30, 34]  # but for the one word of one post


def test_words_of_more_than_four_thousand_posts_stay_in_the_complete_set_only():
    body = " ".join(f"{coin(i % 3)}" for i in range(30))
    texts = [f"\n\n{body} {coin(7)}" if row < 4000 else f"\n\n{body}" for row in range(4001)]
    labels = ["a"] * 4001
    assert cut_newsgroups(texts, labels, "News-all-20").vocabulary == [coin(7)]
    assert cut_newsgroups(texts, labels, "News-complete-20").vocabulary == [coin(0), coin(1), coin(2), coin(7)]


def test_texts_may_be_an_iterator_and_labels_an_array():
    expected = cut_newsgroups(long_posts(), list("abcd"), "News-all-20")
    found = cut_newsgroups(iter(long_posts()), np.array(list("abcd")), "News-all-20")
    assert (found.counts != expected.counts).nnz == 0
    assert found.labels.tolist() == expected.labels.tolist()


def test_what_is_left_may_be_nothing():
    counts, labels, vocabulary = cut_newsgroups(["\n\nshort"], ["a"], "News-all-20")
    assert counts.shape == (0, 0)
    assert labels.size == 0
    assert vocabulary == []


def test_an_unknown_cut_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"cut must be one of News-different-3, News-similar-3, .* not 'News-3'"):
        cut_newsgroups([], [], "News-3")
    assert len(NEWSGROUPS_CUTS) == 4


def test_texts_and_labels_must_be_as_many():
    with pytest.raises(ValueError, match="2 texts, but 1 labels"):
        cut_newsgroups(["a", "b"], ["x"], "News-all-20")


def test_too_few_posts_of_a_group_are_an_error():
    texts, labels = small_posts(DIFFERENT)
    with pytest.raises(ValueError, match=r"99 posts of alt\.atheism; 100 are needed"):
        cut_newsgroups(texts[1:], labels[1:], "News-different-3")
    with pytest.raises(ValueError, match=r"0 posts of comp\.graphics; 100 are needed"):
        cut_newsgroups(texts, labels, "News-similar-3")


# The real posts


def test_the_cuts_of_the_real_posts_have_about_the_paper_s_sizes(real_data):
    with gzip.open(real_data / "20NG.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    texts = [record["text"] for record in records]
    groups = [str(record["label"]) for record in records]
    small = cut_newsgroups(texts, groups, "News-different-3")
    assert small.counts.shape[0] == 300
    assert 2200 <= small.counts.shape[1] <= 2900
    assert np.unique(small.labels).tolist() == sorted(DIFFERENT)
    large = cut_newsgroups(texts, groups, "News-all-20")
    assert large.counts.shape == (17_840, 50_193)
    assert np.unique(large.labels).size == 20
