"""The stream's statistics and kernels: the ladder for documents that come and go."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from stream.stream_helpers import (
    assert_statistics_equal_a_recount,
    dense,
    expected_conditionals,
    log_joint,
    log_odds,
    make_texts,
)
from textmix.kernels.state import Documents
from textmix.stream.clusterer import StreamClusterer

INTERPRETED = bool(numba.config.DISABLE_JIT)


def small_stream(seed: int = 0, n: int = 24, **settings) -> StreamClusterer:
    """A stream after three batches, of which some documents have gone again."""
    stream = StreamClusterer(alpha=1.5, beta=0.1, random_state=seed, **settings)
    for batch in range(3):
        texts = make_texts(n // 3, seed=10 * seed + batch)
        stream.partial_fit([*texts, ""], ids=[f"{batch}-{i}" for i in range(n // 3 + 1)])
    stream.remove(["0-0", "1-3", "2-1", "0-4"])
    return stream


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_ratios_of_joints(seed):
    stream = small_stream(seed)
    expected = expected_conditionals(stream)
    statistics = stream._statistics
    for row in np.flatnonzero(statistics.documents.slots >= 0):
        options = expected[statistics.documents.ids[row]]
        described = stream._reader.odds_of_rows(slice(row, row + 1))
        own = int(statistics.cluster_ids[statistics.documents.slots[row]])
        alone = own not in options
        share = options[reference.NEW] if alone else options[own]
        assert described.probabilities[0] == pytest.approx(share, abs=1e-9)
        assert described.log_odds_new[0] == pytest.approx(log_odds(options[reference.NEW]), abs=1e-9)


def test_probabilities_of_very_sure_documents_are_finite():
    """Sixty nats more or less probable than a new cluster: a sum of plain weights shows nothing of it."""
    stream = StreamClusterer(beta=0.02).partial_fit(["rain storm wind cloud snow hail sleet fog frost mist " * 40] * 8)
    stream.partial_fit(["oven flour bread yeast dough crumb crust " * 60])
    for row in (0, 8):
        described = stream._reader.odds_of_rows(slice(row, row + 1))
        documents = stream._statistics.documents.csr
        own = documents._replace(starts=documents.starts[row : row + 2], lengths=documents.lengths[row : row + 1])
        exact = stream._reader.odds_of(own, stream._statistics.documents.slots[row : row + 1])
        assert abs(exact.log_odds_new[0]) > 45.0
        assert described.log_odds_new[0] == pytest.approx(exact.log_odds_new[0], rel=1e-9)
        assert described.probabilities[0] == pytest.approx(1.0)


@pytest.mark.parametrize("length", [3, 60])  # plain numbers, and logarithms
def test_sweeps_draw_from_the_posterior(length):
    """A batch that is swept over often enough has the enumerated posterior, given the documents before it."""
    texts = ["aa aa bb " * (length // 3), "bb cc", "cc dd dd", "aa dd"]
    stream = StreamClusterer(alpha=0.8, beta=0.4, merge=False, n_sweeps=0).partial_fit(texts)
    statistics, rng = stream._statistics, np.random.default_rng(1)
    statistics.tabulate()  # V of all words
    counts, _, _ = dense(statistics)
    expected = reference.posterior(counts, 0.4, ("process", 0.8))
    n_draws, rows, seen = 300 if INTERPRETED else 5_000, slice(0, 4), Counter()
    for _ in range(n_draws):
        for _ in range(1 if INTERPRETED else 5):
            stream._moves._pass_over(rows, rng.random(4))
        seen[reference.canonical(statistics.documents.slots.astype(int))] += 1
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-3


def test_earlier_documents_stay_where_they_are():
    stream = StreamClusterer(merge=False, random_state=3).partial_fit(make_texts(40, seed=1), ids=range(40))
    before = stream.labels_of(range(40))
    stream.partial_fit(make_texts(40, seed=2), ids=range(40, 80))
    np.testing.assert_array_equal(stream.labels_of(range(40)), before)


@pytest.mark.parametrize("seed", range(3))
def test_a_gain_of_merging_is_the_difference_of_joints(seed):
    stream = small_stream(seed, merge=False)
    statistics = stream._statistics
    statistics.tabulate()  # V of the words now present
    counts, slots, _ = dense(statistics)
    prior = ("process", statistics.prior.concentration)
    before = reference.log_joint(counts, slots, 0.1, prior)
    used = np.flatnonzero(statistics.clusters.sizes > 0)
    assert used.size > 2
    for slot in used.tolist():
        gains = stream._moves._gains_of(slot)
        for other in used.tolist():
            if other == slot:
                assert gains[other] == -np.inf
            else:
                together = np.where(slots == other, slot, slots)
                assert gains[other] == pytest.approx(
                    float(reference.log_joint(counts, together, 0.1, prior) - before), abs=1e-9
                )


def test_clusters_become_one_where_that_is_more_probable_and_the_known_id_stays():
    texts = ["goal match team", "match win goal", "goal team win match"]
    stream = StreamClusterer(alpha=1.0, beta=0.1, n_sweeps=0, merge=False).partial_fit(texts[:1], ids=["a"])
    statistics = stream._statistics
    stream.partial_fit(texts[1:], ids=["b", "c"])
    stream._moves.set_labels(np.array([0, 1, 1]), np.array([0, 7]))
    statistics.compared_sizes[:] = 0
    before = log_joint(stream)
    merges = stream._moves._merge()
    assert [(merge.cluster, merge.into, merge.size) for merge in merges] == [(0, 7, 1)]
    assert stream.labels_of(["a", "b", "c"]).tolist() == [7, 7, 7]
    assert log_joint(stream) > before
    assert_statistics_equal_a_recount(statistics)


def test_merging_never_lowers_the_joint():
    stream = StreamClusterer(merge=False, n_sweeps=0, random_state=1)
    stream.partial_fit(make_texts(60, seed=4))
    before = log_joint(stream)
    stream._moves._n_arrived = 10**6
    merges = stream._moves._merge()
    assert merges
    assert log_joint(stream) > before
    assert_statistics_equal_a_recount(stream._statistics)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), max_size=12)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 30), max_size=12)),
        st.tuples(st.just("keep"), st.integers(0, 20)),
    ),
    max_size=12,
)


@settings(max_examples=4 if INTERPRETED else 60)
@given(operations=operations, seed=st.integers(0, 3))
def test_statistics_equal_a_recount_after_any_operations(operations, seed):
    """Also that each id is there once, with its last text."""
    texts = ["", *make_texts(40, seed=seed)]
    stream, kept = StreamClusterer(alpha=2.0, n_sweeps=2, random_state=seed), {}
    for kind, what in operations:
        if kind == "add":
            stream.partial_fit([texts[text] for _, text in what], ids=[id for id, _ in what])
            batch = {id: texts[text] for id, text in what}
            same = [id for id in batch if Counter(kept.get(id, "not there").split()) == Counter(batch[id].split())]
            last = {id: place for place, (id, _) in enumerate(what)}
            for id in sorted(
                batch, key=lambda id: (id not in same, last[id])
            ):  # those that stay come before the others
                kept.pop(id, None)
                kept[id] = batch[id]
        elif kind == "remove":
            removed = stream.remove(what)
            assert sorted(removed) == sorted({str(id) for id in what if id in kept})
            kept = {id: text for id, text in kept.items() if id not in what}
        else:
            stream.forget(keep=what)
            kept = dict(list(kept.items())[-what:] if what else [])
        assert stream.n_documents_ == len(kept)
        assert_statistics_equal_a_recount(stream._statistics)
    for id, counts in zip(kept, stream.word_counts_of(kept), strict=True):
        assert counts == dict(Counter(word for word in kept[id].split()))


small_batches = st.lists(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), min_size=1, max_size=3), min_size=1, max_size=25
)


@settings(max_examples=4 if INTERPRETED else 150)
@given(batches=small_batches, keep=st.sampled_from([None, 15]))
def test_lists_that_are_full_stay_right_when_clusters_become_one(batches, keep):
    """Many words in few documents each: their lists have hardly any room."""
    stream = StreamClusterer(alpha=3.0, n_sweeps=0)
    for batch in batches:
        stream.partial_fit([" ".join(f"word{min(word, word * word // 40)}" for word in words) for words in batch])
        stream._moves._n_arrived = 10**6  # all clusters are compared
        if keep is not None:
            stream.forget(keep=keep)
        assert_statistics_equal_a_recount(stream._statistics)


def test_a_mistake_in_the_statistics_is_found():
    for spoil in (
        lambda clusters: clusters.pair_counts.__iadd__(1),
        lambda clusters: clusters.sizes.__setitem__(0, clusters.sizes[0] + 1),
        lambda clusters: clusters.totals.__setitem__(0, clusters.totals[0] + 1),
        lambda clusters: clusters.list_lengths.__setitem__(0, 0),
    ):
        statistics = small_stream(2)._statistics
        assert statistics.find_mistakes() == []
        spoil(statistics.clusters)
        assert statistics.find_mistakes()
    statistics.words.totals[0] += 1
    assert any("totals of words" in mistake for mistake in statistics.find_mistakes())


def test_what_is_left_after_everything_went_is_nothing():
    stream = StreamClusterer(random_state=2)
    texts = make_texts(200, seed=9)
    stream.partial_fit(texts, ids=range(200))
    stream.remove(range(200))
    statistics = stream._statistics
    assert statistics.words.n_present == statistics.words.totals.sum() == 0
    assert not statistics.clusters.sizes.any()
    assert not statistics.clusters.totals.any()
    assert not statistics.clusters.list_lengths.any()
    assert stream.n_clusters_ == stream.n_documents_ == 0


def test_lists_that_outgrow_their_room_move_and_keep_their_pairs():
    stream = StreamClusterer(random_state=0, n_sweeps=1)
    for batch in range(6 if INTERPRETED else 40):
        stream.partial_fit(make_texts(8, seed=batch), ids=[f"{batch}-{i}" for i in range(8)])
        assert_statistics_equal_a_recount(stream._statistics)


def test_new_documents_are_described_as_if_they_were_placed():
    """What `assign` says of a text is the conditional of a document that came last, its words being known."""
    stream = small_stream(1)
    text = "goal match storm"
    assigned = stream.assign([text])
    statistics = stream._statistics
    columns = statistics.words.find(text.split())
    documents = Documents(
        np.array([0, 3], np.int32), columns.astype(np.uint32), np.ones(3, np.int32), np.array([3], np.int32)
    )
    described = stream._reader.odds_of(documents, np.array([-1], np.int32))
    counts, slots, _ = dense(statistics)
    names = sorted({word for row in statistics.documents.ids for word in stream.word_counts_of([row])[0]})
    row = np.array([[int(name in text.split()) for name in names]])
    n_words = round(statistics.model.vocabulary_beta / 0.1)
    counts = np.vstack([counts, row])
    counts = np.hstack([counts, np.zeros((len(counts), max(n_words - counts.shape[1], 0)), np.int64)])
    prior = ("process", statistics.prior.concentration)
    expected = reference.conditional(counts, np.append(slots, -1), len(counts) - 1, 0.1, prior)
    best = max((option for option in expected if option != reference.NEW), key=expected.get)
    assert assigned.labels[0] == statistics.cluster_ids[best]
    assert assigned.probabilities[0] == pytest.approx(expected[best], abs=1e-9)
    assert described.probabilities[0] == assigned.probabilities[0]
    assert assigned.outlier_scores[0] == pytest.approx(log_odds(expected[reference.NEW]), abs=1e-9)
