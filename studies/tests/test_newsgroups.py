"""The cuts of the 20 Newsgroups."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import scipy.sparse

from textmix_studies.newsgroups import DIFFERENT, NEWSGROUPS_CUTS, SIMILAR, cut_newsgroups, newsgroups_words

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
