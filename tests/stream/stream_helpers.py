"""Small streams, and how their statistics are judged."""

from __future__ import annotations

import math

import numpy as np

import reference
from textmix.kernels.state import N_FREE, N_SLOTS
from textmix.kernels.weights import fill_bases
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.statistics import StreamStatistics

TOPICS = ("goal match team win", "vote party law court", "rain storm wind cloud", "bread oven flour cake")


def make_texts(n: int, seed: int = 0, length: int = 5) -> list[str]:
    """Texts on four topics, with some words that are in one text alone."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(n):
        words = rng.choice(TOPICS[rng.integers(len(TOPICS))].split(), size=1 + rng.poisson(length - 1)).tolist()
        texts.append(" ".join([*words, f"only{seed}x{i}"] if rng.random() < 0.2 else words))
    return texts


def dense(statistics: StreamStatistics) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Counts of the documents kept by the words present, the slot of each, and their rows."""
    kept, rows = statistics.documents, np.flatnonzero(statistics.documents.is_kept)
    names = sorted({statistics.words.name(word) for row in rows for word in kept.entries(np.array([row]))[0].tolist()})
    counts = np.zeros((rows.size, len(names)), np.int64)
    for place, row in enumerate(rows):
        for word, count in zip(*(values.tolist() for values in kept.entries(np.array([row]))), strict=True):
            counts[place, names.index(statistics.words.name(word))] += count
    return counts, kept.slots[rows].astype(np.int64), rows.tolist()


def assert_statistics_equal_a_recount(statistics: StreamStatistics) -> None:
    """Compare every number with one made from the documents kept alone."""
    counts, labels, rows = dense(statistics)
    clusters, n_slots = statistics.clusters, int(statistics.clusters.counters[N_SLOTS])
    lengths = counts.sum(axis=1)
    np.testing.assert_array_equal(statistics.documents.lengths[rows], lengths)
    np.testing.assert_array_equal(labels >= 0, lengths > 0)
    for slot in range(clusters.sizes.size):
        assert clusters.sizes[slot] == np.count_nonzero(labels == slot)
        assert clusters.totals[slot] == lengths[labels == slot].sum()
        assert (statistics.cluster_ids[slot] >= 0) == (clusters.sizes[slot] > 0)
    assert statistics.words.n_present == counts.shape[1]
    expected: dict[tuple[str, int], int] = {}
    for row, slot in zip(rows, labels.tolist(), strict=True):
        for word, count in zip(
            *(values.tolist() for values in statistics.documents.entries(np.array([row]))), strict=True
        ):
            key = statistics.words.name(word), slot
            expected[key] = expected.get(key, 0) + count
    found, used = {}, set()
    for word in range(statistics.words.n_columns):
        start, length = int(clusters.list_starts[word]), int(clusters.list_lengths[word])
        assert length <= statistics._rooms[word]
        assert not used & set(range(start, start + int(statistics._rooms[word])))
        used |= set(range(start, start + int(statistics._rooms[word])))
        slots = clusters.pair_slots[start : start + length].tolist()
        assert len(set(slots)) == length
        for slot, count in zip(slots, clusters.pair_counts[start : start + length].tolist(), strict=True):
            found[statistics.words.name(word), slot] = count
    assert found == expected
    assert max(used, default=-1) < statistics._tail[0] <= clusters.pair_slots.size
    totals: dict[str, int] = {}
    for (word, _), count in expected.items():
        totals[word] = totals.get(word, 0) + count
    assert {
        statistics.words.name(c): int(statistics.words.totals[c]) for c in statistics.words.find(list(totals))
    } == totals
    assert int(statistics.words.totals.sum()) == int(lengths.sum())
    free = clusters.free_slots[: clusters.counters[N_FREE]].tolist()
    assert sorted(free) == np.flatnonzero(clusters.sizes[:n_slots] == 0).tolist()
    table = statistics.table
    fresh = table._replace(**{name: getattr(table, name).copy() for name in ("bases", "sums", "peaks", "n_updates")})
    fill_bases(clusters, statistics.model, statistics.prior, fresh)
    np.testing.assert_allclose(table.bases, fresh.bases, rtol=1e-12)
    assert (np.abs(table.sums - fresh.sums) <= 2.3e-16 * (table.n_updates[0] + 8) * table.peaks).all()
    assert (statistics.scratch.gains == 1.0).all()
    assert not statistics._needed.any()
    assert not statistics.word_counts.any()
    assert statistics.find_mistakes() == []


def expected_conditionals(stream: StreamClusterer) -> dict[str, dict]:
    """p(cluster of a document | all others) as a ratio of joints, by document id; keys are cluster ids and NEW."""
    statistics = stream._statistics
    counts, slots, rows = dense(statistics)
    n_words = round(statistics.model.vocabulary_beta / stream.beta)  # V of the tables, which follows that of the words
    counts = np.hstack([counts, np.zeros((len(counts), max(n_words - counts.shape[1], 0)), np.int64)])
    prior = ("process", statistics.prior.concentration)
    found = {}
    for place, row in enumerate(rows):
        if slots[place] >= 0:
            options = reference.conditional(counts, slots, place, stream.beta, prior)
            ids = {o: o if o == reference.NEW else int(statistics.cluster_ids[o]) for o in options}
            found[statistics.documents.ids[row]] = {ids[option]: share for option, share in options.items()}
    return found


def log_joint(stream: StreamClusterer) -> float:
    """log p(labels, words) of the documents kept, by the reference."""
    counts, slots, _ = dense(stream._statistics)
    prior = ("process", stream._statistics.prior.concentration)
    return float(reference.log_joint(counts, slots, stream.beta, prior))


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings put the same documents together."""
    return reference.canonical(one) == reference.canonical(other)


def log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)
