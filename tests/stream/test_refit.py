"""Documents of a stream are clustered anew while it goes on."""

from __future__ import annotations

import numpy as np
import pytest

from stream.stream_helpers import assert_statistics_equal_a_recount, make_texts, same_partition
from textmix import ConsensusMixture, StreamClusterer
from textmix.stream.durable import Document, DurableStream

SPORT, WEATHER, FOOD = "goal match team win", "rain storm wind cloud", "bread oven flour cake"


def test_clusters_that_mostly_agree_keep_their_ids():
    stream = StreamClusterer().partial_fit([SPORT] * 6 + [WEATHER] * 4 + [FOOD] * 2, ids=range(12))
    labels = np.array([7] * 5 + [3] + [3] * 4 + [5, 6])  # one text changes sides, the last cluster falls apart
    stream.relabel(stream.snapshot(), labels)
    assert stream.labels_of(range(12)).tolist() == [0] * 5 + [1] * 5 + [3, 4]
    assert [(event.kind, event.cluster, event.into) for event in stream.events_] == [
        ("died", 2, None),
        ("born", 3, None),
        ("born", 4, None),
    ]
    assert_statistics_equal_a_recount(stream._statistics)


def test_a_cluster_that_goes_into_another_is_told_as_merged():
    stream = StreamClusterer().partial_fit([SPORT] * 6 + [WEATHER] * 4, ids=range(10))
    stream.relabel(stream.snapshot(), np.zeros(10, int))
    assert [tuple(event) for event in stream.events_] == [("merged", 1, 0, 4)]
    assert stream.partial_fit([FOOD]).labels_.tolist() == [2]


def test_what_came_or_went_in_the_meantime_is_as_it_should_be():
    stream = StreamClusterer(random_state=1).partial_fit([SPORT] * 6 + [WEATHER] * 6, ids=range(12))
    snapshot = stream.snapshot()
    stream.remove([0, 11])
    stream.partial_fit([WEATHER, FOOD, ""], ids=[1, "new", "empty"])  # the first replaces a text on sport
    stream.relabel(snapshot, np.repeat([1, 0], 6))
    assert stream.labels_of([0, 11, "empty"]).tolist() == [-1, -1, -1]
    assert stream.labels_of([2, 6, 1]).tolist() == [0, 1, 1]
    assert stream.labels_of(["new"])[0] >= 2
    assert_statistics_equal_a_recount(stream._statistics)


def test_documents_sent_again_in_the_meantime_are_those_of_the_fit():
    stream = StreamClusterer().partial_fit([SPORT] * 6 + [WEATHER] * 6, ids=range(12))
    snapshot = stream.snapshot()
    stream.partial_fit([FOOD], ids=["new"])
    stream.partial_fit([WEATHER, SPORT], ids=[11, 0])
    stream.relabel(snapshot, np.repeat([0, 1, 2], 4))
    labels = stream.labels_of(range(12)).tolist()
    assert [labels[i] for i in (0, 4, 8)] == [labels[i] for i in (3, 7, 11)]
    assert len(set(labels)) == 3
    assert_statistics_equal_a_recount(stream._statistics)


def test_clusters_that_were_born_in_the_meantime_keep_their_ids():
    stream = StreamClusterer().partial_fit([SPORT] * 10 + [WEATHER] * 10, ids=range(20))
    snapshot = stream.snapshot()
    stream.partial_fit([FOOD] * 30, ids=range(20, 50))
    stream.relabel(snapshot, np.repeat([1, 0], 10))
    assert stream.labels_of([0, 10, 20]).tolist() == [0, 1, 2]
    assert stream.events_ == []
    stream.partial_fit([FOOD] * 12 + [SPORT] * 4 + [WEATHER] * 4)
    assert stream.events_ == []  # no growth either


def test_a_snapshot_of_another_state_is_refused():
    stream = StreamClusterer().partial_fit([SPORT] * 3)
    snapshot = stream.snapshot()
    with pytest.raises(ValueError, match="for each document"):
        stream.relabel(snapshot, [0, -1, 0])
    with pytest.raises(ValueError, match="another one"):
        StreamClusterer().partial_fit([SPORT] * 3).relabel(snapshot, [0, 0, 0])


@pytest.fixture(scope="module")
def refitted(tmp_path_factory):
    """A state that was clustered anew while documents came."""
    folder = tmp_path_factory.mktemp("refit") / "state"
    texts = make_texts(150, seed=3)
    with DurableStream(folder, clusterer=StreamClusterer(n_sweeps=0, merge=False)) as stream:
        stream.add([Document(str(i), text) for i, text in enumerate(texts)])
        snapshot = stream._in_memory.clusterer.snapshot()
        refit = stream.refit()
        stream.add([Document("late", SPORT)])
        summary = refit.wait(300)
        yield stream, snapshot, summary


def test_the_stream_has_the_clusters_of_a_fit_with_the_defaults(refitted):
    stream, snapshot, summary = refitted
    expected = ConsensusMixture(random_state=0, progress=False).fit_predict(snapshot.counts)
    found = np.array([stream.document(str(i)).cluster for i in range(150)])
    assert same_partition(found, expected)
    assert summary.n_documents == 151
    assert summary.n_clusters == stream.n_clusters


def test_late_documents_are_classified_among_them_and_all_is_on_disk(refitted):
    stream, _, _ = refitted
    late = stream.document("late")
    assert late.cluster == stream.assign([SPORT])[0].cluster
    assert stream.check() == []


def test_a_fit_that_fails_or_is_stopped_changes_nothing(tmp_path):
    with DurableStream(tmp_path / "state") as stream:
        stream.add([Document("a", SPORT), Document("b", WEATHER)])
        refit = stream.refit()
        refit.stop()
        with pytest.raises(RuntimeError, match="stay as they are"):
            refit.wait(60)
        assert stream.check() == []
        assert stream.n_documents == 2
