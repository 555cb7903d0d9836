"""A stream on disk: what is answered is there, memory and file never differ, what is there can be gone on with."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import threading
from contextlib import closing, contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from stream_texts import make_documents

import textmix
from textmix.corpus import Tokenizer
from textmix.stream import durable, saved_run, state_file
from textmix.stream.changes import NamedClusters
from textmix.stream.checking import check_folder
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.copies import copy_database
from textmix.stream.database import FILE, Database
from textmix.stream.durable import Document, DurableStream, Policy
from textmix.stream.events import Event
from textmix.stream.policy import Forgetting
from textmix.stream.reading import StreamReader
from textmix.stream.side_files import RESERVE_SIZE
from textmix.stream.state_file import DamagedStateError, DiskFullError
from textmix.stream.stored import given_clusterer

DAY = 86400
NOW = 1_700_000_000


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def stream(folder):
    with DurableStream(folder) as opened:
        yield opened


@pytest.fixture
def clock(monkeypatch):
    """The time of now, which tests set."""
    clock = {"now": NOW}
    monkeypatch.setattr(durable, "_now", lambda: clock["now"])
    return clock


def change_file(folder, *statements):
    with closing(sqlite3.connect(folder / FILE)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


# ---------------------------------------------------------------------- documents come and go


def test_answers_are_in_the_order_of_the_documents_and_stored(folder):
    documents = make_documents(30)
    with DurableStream(folder) as stream:
        answers = stream.add(documents)
        assert [answer.id for answer in answers] == [document.id for document in documents]
        assert all(answer.new and answer.probability > 0 for answer in answers)
        assert {answer.name for answer in answers} == {cluster.name for cluster in stream.clusters()}
    with DurableStream(folder) as stream:
        assert stream.check() == []
        for document, answer in zip(documents, answers, strict=True):
            stored = stream.document(document.id)
            assert (stored.text, stored.cluster, stored.probability) == (
                document.text,
                answer.cluster,
                answer.probability,
            )


def test_batches_go_on_after_a_restart_with_the_clusters_there_were(folder):
    with DurableStream(folder) as stream:
        before = {answer.cluster for answer in stream.add(make_documents(60))}
    with DurableStream(folder) as stream:
        answers = stream.add(make_documents(9, seed=1, prefix="later"))
        assert {answer.cluster for answer in answers} <= before
        assert not any(answer.new for answer in answers)
        assert stream.n_documents == 69
        assert stream.check() == []


def test_a_document_sent_twice_counts_once_and_the_last_text_wins(stream):
    stream.add([Document("a", "parcel late"), Document("b", "refund money"), Document("a", "login password")])
    stream.add([Document("b", "invoice charged")])
    assert stream.n_documents == 2
    assert [stream.document(id).text for id in "ab"] == ["login password", "invoice charged"]
    assert stream.check() == []


def test_documents_without_an_id_get_one_each(stream):
    answers = stream.add([Document(None, "parcel late"), Document(None, "parcel late")])
    assert stream.n_documents == 2
    assert [stream.document(answer.id).text for answer in answers] == ["parcel late"] * 2


def test_removing_takes_out_what_is_there_and_clusters_die(stream):
    stream.add(make_documents(30))
    assert stream.remove(["d3", "nowhere", "d3"]) == ["d3"]
    assert stream.document("d3") is None
    assert stream.check() == []
    assert len(stream.remove([f"d{i}" for i in range(30)])) == 29
    assert (stream.n_documents, stream.n_clusters, stream.clusters()) == (0, 0, [])
    events = [(event.kind, event.cluster, event.name) for event in stream.events()]
    assert sorted(event[1:] for event in events if event[0] == "born") == sorted(
        event[1:] for event in events if event[0] == "died"
    )
    assert stream.check() == []


def test_nothing_of_a_removed_document_is_left_in_the_folder(folder):
    with DurableStream(folder) as stream:
        secret = "parcel late courier delivery abracadabra"
        stream.add([*make_documents(60), Document("person", secret), Document("other", secret)])
        stream.add([Document("other", "parcel")])
        stream.remove(["person"])
    assert [path.name for path in folder.iterdir() if b"abracadabra" in path.read_bytes()] == []


def test_nothing_of_it_is_left_when_another_program_has_had_a_look(folder):
    with DurableStream(folder) as stream:
        stream.add([*make_documents(3), Document("person", "abracadabra")])
        reader = Database(folder / FILE, read_only=True)
        assert reader.n_documents() == 4
        stream.remove(["person"])
    assert [path.name for path in folder.iterdir() if path.name != FILE and b"abracadabra" in path.read_bytes()] == []
    reader.close()


def test_a_stream_can_be_closed_while_another_program_reads(folder, monkeypatch):
    monkeypatch.setattr(state_file, "_WAIT_AT_END", 0.01)
    with DurableStream(folder) as stream:
        stream.add(make_documents(3))
        with closing(Database(folder / FILE, read_only=True)) as reader, reader.snapshot():
            assert reader.n_documents() == 3
            stream.add(make_documents(3, prefix="later"))
            stream.close()
            assert reader.n_documents() == 3
    with DurableStream(folder) as stream:
        assert (stream.n_documents, stream.check()) == (6, [])


def test_cluster_ids_are_not_used_again_after_a_restart(folder):
    with DurableStream(folder) as stream:
        used = {answer.cluster for answer in stream.add(make_documents(30))}
        stream.remove([f"d{i}" for i in range(30)])
    with DurableStream(folder) as stream:
        assert used.isdisjoint(answer.cluster for answer in stream.add(make_documents(30)))


def test_documents_without_words_are_kept_in_no_cluster(folder):
    with DurableStream(folder) as stream:
        (answer,) = stream.add([Document("a", "…")])
        assert answer == ("a", -1, "", None, None, False)
    with DurableStream(folder) as stream:
        assert stream.document("a").cluster == -1
        assert (stream.n_documents, stream.n_clusters, stream.check()) == (1, 0, [])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document("", "text"), "document 1: the id is empty"),
        (Document("x" * 1001, "text"), "document 1: the id has 1,001 characters; at most 1,000"),
        (Document(7, "text"), "document 1: the id is int, not str"),
        (Document("\ud800", "text"), "document 1: the id has half a character"),
        (Document("a", None), "document 1: the text is NoneType, not str"),
        (Document("a", "text", "soon"), "document 1: 'soon' is no time"),
        (Document("a", "text", True), "document 1: 'True' is no time"),
    ],
)
def test_one_bad_document_is_named_and_nothing_changes(stream, document, message):
    with pytest.raises(ValueError, match=message):
        stream.add([Document("good", "parcel late"), document])
    assert stream.n_documents == 0
    assert stream.check() == []


def test_texts_of_any_characters_are_stored(stream):
    stream.add([Document("é☃\n", "nul \0 half \ud800 whole 😀 parcel")])
    assert stream.document("é☃\n").text == "nul \0 half � whole 😀 parcel"
    assert stream.check() == []


def test_times_are_kept_as_they_are_read(stream, clock):
    times = [None, 0, date(1969, 7, 20), "2024-03-04T06:02:53+01:00", np.datetime64("2024-03-04"), float("nan")]
    stream.add([Document(str(number), "parcel", time) for number, time in enumerate(times)])
    now = "2023-11-14T22:13:20Z"
    expected = [
        now,
        "1970-01-01T00:00:00Z",
        "1969-07-20T00:00:00Z",
        "2024-03-04T05:02:53Z",
        "2024-03-04T00:00:00Z",
        now,
    ]
    assert [stream.document(str(number)).time for number in range(6)] == expected
    assert stream.check() == []


@pytest.mark.parametrize(
    "time", [np.datetime64(10**18, "Y"), np.datetime64("0000-12-31"), np.datetime64("10000-01-01")]
)
def test_times_are_of_years_that_can_be_written(stream, time):
    with pytest.raises(
        ValueError, match=r"document 0: the time is in the year \d+; times are kept of the years 1 to 9999"
    ):
        stream.add([Document("a", "parcel", time)])
    stream.add([Document("a", "parcel", np.datetime64("0001-01-01")), Document("b", "parcel", np.datetime64(1, "as"))])
    assert [stream.document(id).time for id in "ab"] == ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]


def test_an_empty_batch_changes_nothing(stream):
    assert stream.add([]) == []
    assert stream.remove([]) == []
    assert stream.last_event == 0


def test_ids_must_be_a_list(stream):
    with pytest.raises(ValueError, match="ids is a single str"):
        stream.remove("d1")


# ---------------------------------------------------------------------- what there is


def test_assigning_learns_nothing(stream):
    answers = stream.add(make_documents(30))
    state = stream.clusters()
    (found, nothing) = stream.assign([make_documents(1)[0].text, "zzz"])
    assert (found.id, found.cluster, found.name, found.new) == ("", answers[0].cluster, answers[0].name, False)
    assert (nothing.cluster, nothing.probability) == (-1, None)
    assert stream.clusters() == state
    assert stream.n_documents == 30


def test_clusters_come_by_falling_size_with_words_and_birth(stream, clock):
    stream.add([*make_documents(30), Document("odd", "volcano"), *make_documents(3, seed=1, prefix="e")[:1]])
    clusters = stream.clusters()
    assert sorted((-cluster.size, cluster.id) for cluster in clusters) == [(-c.size, c.id) for c in clusters]
    assert sum(cluster.size for cluster in clusters) == 32
    assert clusters[0].words[0][0] in clusters[0].name
    assert {cluster.born for cluster in clusters} == {"2023-11-14T22:13:20Z"}
    assert stream.cluster(clusters[0].id) == clusters[0]
    assert stream.cluster(99) is None


def test_only_the_clusters_asked_for_are_described(stream, monkeypatch):
    stream.add([*make_documents(30), Document("odd", "volcano"), Document("strange", "zebra")])
    described, describe = [], NamedClusters.describe
    monkeypatch.setattr(NamedClusters, "describe", lambda memory, id: described.append(id) or describe(memory, id))
    by_size, by_age = stream.clusters(), stream.clusters(newest=True)
    assert [cluster.id for cluster in by_age] == sorted((cluster.id for cluster in by_size), reverse=True)
    described.clear()
    assert stream.clusters(2, 1) == by_size[1:3]
    assert stream.clusters(2, 3, newest=True) == by_age[3:]
    assert described == [cluster.id for cluster in [*by_size[1:3], *by_age[3:]]]


def test_documents_of_a_cluster_come_newest_first(stream):
    answers = stream.add([Document(str(day), "parcel late", f"2024-03-{day:02}") for day in (3, 5, 4)])
    assert len({answer.cluster for answer in answers}) == 1
    newest = stream.documents_of(answers[0].cluster, limit=2)
    assert [(document.id, document.time) for document in newest] == [
        ("5", "2024-03-05T00:00:00Z"),
        ("4", "2024-03-04T00:00:00Z"),
    ]


def test_a_name_that_was_given_stays(folder):
    with DurableStream(folder) as stream:
        (answer, *_) = stream.add(make_documents(30))
        stream.rename(answer.cluster, "Late parcels")
        assert stream.cluster(answer.cluster).name == "Late parcels"
    with DurableStream(folder) as stream:
        (again,) = stream.add(make_documents(1))
        assert again.name == "Late parcels"
        stream.rename(answer.cluster, None)
        assert stream.cluster(answer.cluster).name == answer.name


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, 7])
def test_a_name_must_be_one(stream, name):
    stream.add(make_documents(3))
    with pytest.raises(ValueError, match="a name is a text of 1 to 200 characters"):
        stream.rename(0, name)
    with pytest.raises(ValueError, match="there is no cluster 77"):
        stream.rename(77, "name")


def merge_clusters(monkeypatch, gone, into):
    """Let the next batch end with two clusters becoming one."""
    partial_fit = StreamClusterer.partial_fit

    def merging(self, X, ids=None, timestamps=None):
        partial_fit(self, X, ids, timestamps)
        slots = {int(self._statistics.cluster_ids[slot]): slot for slot in self._statistics.slots()}
        size = int(self._statistics.clusters.sizes[slots[gone]])
        labels = self._statistics.ids_of(self._statistics.documents.slots)
        labels = np.where(labels == gone, into, labels)
        ids = np.unique(labels)
        self._moves.set_labels(np.searchsorted(ids, labels), ids)
        self.labels_ = np.where(self.labels_ == gone, into, self.labels_)
        self.events_.append(Event("merged", gone, into, size))
        return self

    monkeypatch.setattr(StreamClusterer, "partial_fit", merging)


def test_documents_of_earlier_batches_move_when_clusters_become_one(folder, monkeypatch):
    with DurableStream(folder) as stream:
        answers = stream.add(make_documents(30))
        gone, into = answers[0].cluster, answers[1].cluster
        stream.rename(gone, "Late parcels")
        merge_clusters(monkeypatch, gone, into)
        stream.add([Document("odd", "volcano")])
        assert stream.document("d0").cluster == into
        assert stream.cluster(gone) is None
        assert stream.cluster(into).name == "Late parcels"  # it had none of its own
        merged = stream.events()[-1]
        assert (merged.kind, merged.cluster, merged.into, merged.name) == ("merged", gone, into, "Late parcels")
        assert stream.check() == []
    with DurableStream(folder) as stream:
        assert stream.cluster(into).name == "Late parcels"


def test_events_are_numbered_and_stay(folder, clock):
    with DurableStream(folder) as stream:
        stream.add(make_documents(30))
        names = {cluster.id: cluster.name for cluster in stream.clusters()}
        born = stream.events()
        assert [event.number for event in born] == list(range(1, len(names) + 1))
        assert {(event.kind, event.time) for event in born} == {("born", "2023-11-14T22:13:20Z")}
    with DurableStream(folder) as stream:
        stream.remove([f"d{i}" for i in range(30)])
        died = stream.events(after=len(born))
        assert {event.cluster: event.name for event in died if event.kind == "died"} == names
        assert stream.last_event == len(born) + len(died)
        assert stream.events(after=1, limit=1) == [born[1]]


# ---------------------------------------------------------------------- forgetting


def test_forgetting_by_hand_is_stored(folder):
    with DurableStream(folder) as stream:
        stream.add(make_documents(30))
        assert stream.forget(keep=10, confirmed=True) == [f"d{i}" for i in range(20)]
    with DurableStream(folder) as stream:
        assert (stream.n_documents, stream.check()) == (10, [])


def test_only_the_last_documents_are_kept_by_a_policy(folder):
    with DurableStream(folder, policy=Policy(keep=10)) as stream:
        assert len(stream.add(make_documents(30))) == 30
        assert stream.n_documents == 10
        assert stream.check() == []
    with DurableStream(folder) as stream:  # it is stored
        stream.add(make_documents(3, prefix="later"))
        assert stream.n_documents == 10
        assert stream.document("d22") is None
        assert stream.document("d23") is not None


def test_documents_over_an_age_go_and_ages_count_from_the_newest_of_a_batch(folder, clock):
    with DurableStream(folder, policy=Policy(max_age="30d"), confirmed=True) as stream:
        stream.add([Document(str(days), "parcel late", NOW - days * DAY) for days in (100, 95, 80)])
        assert stream.n_documents == 3
        stream.add([Document("60", "parcel late", NOW - 60 * DAY)])
        assert [stream.document(id) is None for id in ("100", "95", "80", "60")] == [True, True, False, False]
        stream.add([Document("10", "parcel late", NOW - 10 * DAY)])
        stream.add([Document("future", "parcel late", NOW + 1000 * DAY)])  # as if it were of now
        assert stream.n_documents == 2
        assert stream.check() == []


def test_half_of_the_documents_are_gone_after_a_half_life(folder, clock):
    with DurableStream(folder, policy=Policy(half_life="7d"), confirmed=True) as stream:
        stream.add([Document(str(i), "parcel late", NOW - 7 * DAY) for i in range(400)])
        assert stream.n_documents == 400
        stream.add([Document("now", "parcel late", NOW)])
        left = stream.n_documents
        assert 160 < left < 240
        stream.add([Document("now", "parcel late", NOW)])
        assert stream.n_documents == left
        assert stream.check() == []


def test_all_documents_are_looked_at_only_when_some_are_due():
    forgetting = Forgetting(Policy(keep=10, half_life=1000 * 60))
    assert forgetting.due(10, NOW) == {"half_life": 60_000.0, "now": np.datetime64(NOW, "s")}
    assert forgetting.due(10, NOW + 59) == {}
    assert forgetting.due(11, NOW + 59) == {"keep": 10}
    assert forgetting.due(10, NOW + 60).keys() == {"half_life", "now"}
    assert forgetting.due(10, NOW).keys() == {"half_life", "now"}
    assert Forgetting(Policy(max_age="1m")).due(0, NOW) == {"before": np.datetime64(NOW - 60, "s")}


def test_another_policy_takes_the_place_of_the_stored_one(folder):
    with DurableStream(folder, policy=Policy(keep=10, max_age="1d")):
        pass
    with DurableStream(folder, policy=Policy(half_life=90)) as stream:
        assert stream.policy == Policy(half_life="90s")
    with DurableStream(folder) as stream:
        assert stream.policy == Policy(half_life="1.5m")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("keep", value) for value in (0, -1, 1.5, True, "5", 10**13, float("nan"))),
        *(
            (name, value)
            for name in ("max_age", "half_life")
            for value in ("soon", "30", "-1d", "1e300d", "99999999999d", 0, -1, 1e300, 1e-300, True, [1])
        ),
        *((name, float(value)) for name in ("max_age", "half_life") for value in ("nan", "inf", "-inf")),
        *((name, np.timedelta64("NaT")) for name in ("max_age", "half_life")),
    ],
)
def test_a_policy_must_be_one(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        Policy(**{name: value})


def test_the_longest_policy_works(folder):
    with DurableStream(folder, policy=Policy(keep=10**12, max_age="3650000d", half_life="3650000d")) as stream:
        stream.add([Document("old", "parcel late", "0001-01-01"), Document("new", "parcel late")])
    with DurableStream(folder) as stream:
        stream.add([Document("newer", "parcel late", "9999-12-31")])
        assert (stream.n_documents, stream.check()) == (3, [])


# ---------------------------------------------------------------------- not most documents at once


def documents_at(prefix, n, day):
    return [Document(f"{prefix}{number}", "parcel late", NOW + day * DAY) for number in range(n)]


@pytest.mark.parametrize("what", [{"keep": 4}, {"before": NOW + DAY}, {"half_life": 60, "now": NOW + 30 * DAY}])
def test_forgetting_more_than_half_by_hand_must_be_confirmed(stream, what):
    stream.add([*documents_at("old", 6, 0), *documents_at("new", 4, 30)])
    with pytest.raises(ValueError, match="6 of 10 texts would be forgotten, more than half at once; nothing"):
        stream.forget(**what)
    assert (stream.n_documents, stream.check()) == (10, [])
    assert len(stream.forget(**what, confirmed=True)) == 6


def test_half_of_the_documents_need_no_confirmation(stream):
    stream.add(make_documents(10))
    assert len(stream.forget(keep=5)) == 5


def test_a_new_policy_that_forgets_more_than_half_must_be_confirmed(folder):
    with DurableStream(folder, policy=Policy(keep=100)) as stream:
        stream.add(make_documents(10))
    with pytest.raises(ValueError, match="6 of 10 texts would be forgotten"):
        DurableStream(folder, policy=Policy(keep=4))
    with DurableStream(folder) as stream:
        assert (stream.policy, stream.n_documents) == (Policy(keep=100), 10)
    with DurableStream(folder, policy=Policy(keep=4), confirmed=True) as stream:
        assert len(stream.forget_due(confirmed=True)) == 6
        assert (stream.n_documents, stream.n_forgotten, stream.check()) == (4, 6, [])


def test_a_looser_policy_needs_no_confirmation(folder, clock):
    with DurableStream(folder, policy=Policy(max_age="5d")) as stream:
        stream.add(documents_at("old", 10, 0))
        clock["now"] += 60 * DAY
        stream.add(documents_at("new", 1, 60))
        assert stream.held_back is not None
    with DurableStream(folder, policy=Policy(max_age="30d")) as stream:
        assert (stream.n_documents, stream.policy) == (11, Policy(max_age="30d"))


def test_a_policy_for_a_run_must_be_confirmed_too(run):
    with pytest.raises(ValueError, match="51 of 61 texts would be forgotten"):
        DurableStream(run, policy=Policy(keep=10))
    with DurableStream(run) as stream:
        assert (stream.policy, stream.n_documents) == (Policy(), 61)


@pytest.mark.parametrize("policy", [Policy(max_age="5d"), Policy(half_life="1h"), Policy(keep=15, max_age="5d")])
def test_a_clock_that_jumps_ahead_does_not_empty_a_stream(folder, clock, policy, caplog):
    with DurableStream(folder, policy=policy) as stream:
        stream.add(documents_at("old", 10, 0))
        clock["now"] += 30 * DAY
        for number in range(3):
            assert len(stream.add([Document(f"new{number}", "parcel late")])) == 1
        assert stream.n_documents == 13
        assert (stream.held_back.n_due, stream.held_back.n_documents) == (10, 13)
        assert len(caplog.messages) == 1  # told once
        assert "10 of 11 texts are old enough to be forgotten" in caplog.messages[0]
        assert stream.check() == []
    with DurableStream(folder) as stream:
        assert len(stream.forget_due(confirmed=True)) == 10
        assert (stream.n_documents, stream.held_back) == (3, None)


def test_a_large_batch_does_not_push_out_all_that_was_there(folder, clock):
    with DurableStream(folder, policy=Policy(max_age="5d")) as stream:
        stream.add(documents_at("old", 10, 0))
        clock["now"] += 30 * DAY
        stream.add(documents_at("new", 30, 30))
        assert (stream.n_documents, stream.held_back) == (40, (10, 40))
        stream.add(documents_at("newer", 1, 30))
        assert (stream.n_documents, stream.held_back) == (31, None)


def test_old_documents_go_by_themselves_once_enough_newer_ones_have_come(folder, clock):
    with DurableStream(folder, policy=Policy(max_age="5d")) as stream:
        stream.add(documents_at("old", 10, 0))
        clock["now"] += 30 * DAY
        for number in range(10):
            stream.add([Document(f"new{number}", "parcel late")])
            assert stream.n_documents == 11 + number
        stream.add([Document("last", "parcel late")])
        assert (stream.n_documents, stream.held_back) == (11, None)


@pytest.mark.parametrize("wrong", [-1000 * 365, 1000 * 365])
def test_wrong_times_of_documents_do_not_empty_a_stream(folder, clock, wrong):
    with DurableStream(folder, policy=Policy(max_age="5d")) as stream:
        stream.add(documents_at("replayed", 10, -300))
        stream.add(documents_at("wrong", 1, wrong))
        assert stream.n_documents == 11
        stream.add(documents_at("replayed again", 5, -299))
        assert stream.n_documents >= 15
        assert stream.check() == []


def test_a_batch_of_wrong_times_is_not_forgotten_as_it_comes(folder, clock):
    with DurableStream(folder, policy=Policy(max_age="5d")) as stream:
        stream.add([*documents_at("of 1970", 9, -NOW // DAY), *documents_at("of now", 1, 0)])
        assert (stream.n_documents, stream.held_back) == (10, (9, 10))


@pytest.mark.parametrize("policy", [Policy(keep=50), Policy(max_age="10d"), Policy(half_life="10d")])
def test_a_window_that_moves_on_holds_nothing_back(folder, clock, policy):
    with DurableStream(folder, policy=policy) as stream:
        for day in [*range(20), *range(24, 30)]:  # with a long weekend
            clock["now"] = NOW + day * DAY
            stream.add(documents_at(f"{day}-", 5, day))
            assert stream.held_back is None
        assert 5 < stream.n_documents < 100
        assert stream.check() == []


def test_a_count_may_replace_all_documents_at_once(folder):
    with DurableStream(folder, policy=Policy(keep=5)) as stream:
        for number in range(3):
            stream.add(make_documents(20, prefix=f"{number}-"))
            assert (stream.n_documents, stream.held_back) == (5, None)


# ---------------------------------------------------------------------- settings


def test_settings_are_stored_and_others_refused(folder):
    clusterer = StreamClusterer(alpha=0.5, tokenizer=Tokenizer(language="german"), random_state=3)
    DurableStream(folder, clusterer=clusterer).close()
    DurableStream(folder, clusterer=clusterer).close()
    DurableStream(folder).close()
    with pytest.raises(ValueError, match=r"has alpha=0\.5, not 0\.7; leave the setting out"):
        DurableStream(folder, clusterer=StreamClusterer(alpha=0.7, random_state=3))
    with pytest.raises(
        ValueError, match=r"tokenizer=Tokenizer\(language='german'\), not Tokenizer\(language='french'\)"
    ):
        DurableStream(folder, clusterer=StreamClusterer(alpha=0.5, tokenizer=Tokenizer(language="fr"), random_state=3))
    DurableStream(folder).close()  # not left locked


def test_settings_given_in_part_leave_the_others_as_they_are_stored(folder):
    assert given_clusterer(folder, {"alpha": None}) is None
    DurableStream(folder, clusterer=given_clusterer(folder, {"alpha": 0.5, "language": "de"})).close()
    again = given_clusterer(folder, {"language": "german"})
    assert (again.alpha, again.tokenizer.language) == (0.5, "german")
    DurableStream(folder, clusterer=again).close()
    with pytest.raises(ValueError, match=r"beta=0\.02, not 0\.3"):
        DurableStream(folder, clusterer=given_clusterer(folder, {"beta": 0.3}))


@pytest.mark.parametrize(("name", "value"), [("random_state", np.random.default_rng(0)), ("beta", Fraction(1, 3))])
def test_a_setting_that_cannot_be_stored_is_named(folder, name, value):
    with pytest.raises(ValueError, match=f"settings that can be stored, such as numbers; {name} is "):
        DurableStream(folder, clusterer=StreamClusterer(**{name: value}))


def test_numbers_of_numpy_are_stored_as_plain_ones(folder):
    settings = {"beta": np.float32(0.5), "n_sweeps": np.int64(2), "merge": np.bool_(False), "random_state": np.int32(7)}
    DurableStream(folder, clusterer=StreamClusterer(**settings)).close()
    plain = {"beta": 0.5, "n_sweeps": 2, "merge": False, "random_state": 7}
    DurableStream(folder, clusterer=StreamClusterer(**plain)).close()


def test_a_tokenizer_of_ones_own_is_given_again(folder):
    clusterer = StreamClusterer(tokenizer=Tokenizer(tokenizer=str.split))
    with DurableStream(folder, clusterer=clusterer) as stream:
        stream.add([Document("a", "parcel-late today")])
    with DurableStream(folder, clusterer=clusterer) as stream:
        stream.add([Document("b", "parcel-late today")])
        assert len(stream.documents_of(0)) == 2
        assert stream.check() == []
    with DurableStream(folder) as stream, pytest.raises(ValueError, match="a tokenizer of your own"):
        stream.add([Document("c", "parcel-late")])


# ---------------------------------------------------------------------- the folder


def test_one_program_at_a_time(folder, stream):
    with pytest.raises(ValueError, match="another program is at work"):
        DurableStream(folder)


def test_one_program_at_a_time_by_whatever_name(folder, stream, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).symlink_to(folder / FILE)
    for name in ("link", "other"):
        with pytest.raises(ValueError, match="another program is at work"):
            DurableStream(tmp_path / name)
    stream.close()
    with DurableStream(tmp_path / "other") as linked:
        linked.add(make_documents(3))
    assert [each.name for each in (tmp_path / "other").iterdir()] == [FILE]


def test_a_stream_that_was_closed_says_so(stream, tmp_path):
    stream.close()
    stream.close()
    with pytest.raises(ValueError, match="was closed"):
        stream.add(make_documents(1))
    with pytest.raises(ValueError, match="was closed"):
        stream.backup(tmp_path / "copy")


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear …")
    with pytest.raises(ValueError, match="holds other files"):
        DurableStream(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        DurableStream(tmp_path / "letter.txt")
    with pytest.raises(ValueError, match="there is no stream in"):
        DurableStream(tmp_path / "new", create=False)
    assert {each.name for each in tmp_path.iterdir()} == {"letter.txt"}


def test_threads_may_share_a_stream(stream):
    def add(number):
        for batch in range(3):
            stream.add(make_documents(10, seed=number, prefix=f"{number}-{batch}-"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream.n_documents == 120
    assert stream.check() == []


# ---------------------------------------------------------------------- when writing fails


class BreaksOnceError(Exception):
    pass


@pytest.mark.parametrize("place", ["put_documents", "put_clusters", "add_events", "put_meta"])
def test_what_cannot_be_written_is_not_in_memory_either(stream, monkeypatch, place):
    stream.add(make_documents(30))
    before = stream.clusters(), stream.events()

    def fail(self, *_):
        raise BreaksOnceError

    with monkeypatch.context() as context:
        context.setattr(Database, place, fail)
        with pytest.raises(BreaksOnceError):
            stream.add([Document("odd", "volcano"), Document("d0", "volcano")])
    assert (stream.clusters(), stream.events()) == before
    assert stream.check() == []
    stream.add([Document("odd", "volcano")])
    assert stream.n_documents == 31
    assert stream.check() == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda stream: stream.rename(77, "name"),
        lambda stream: stream.forget(keep=-1),
        lambda stream: stream.forget(half_life="soon"),
    ],
)
def test_what_is_refused_leaves_memory_as_it_is(stream, ask):
    stream.add(make_documents(3))
    snapshot = stream._in_memory.clusterer.snapshot()
    with pytest.raises(ValueError, match=r"there is no cluster 77|must be"):
        ask(stream)
    stream._relabel(snapshot, np.zeros(3, np.int32))  # a new fit that is under way is not lost
    assert (stream.n_clusters, stream.check()) == (1, [])


def test_what_is_refused_when_something_has_changed_makes_memory_anew(stream, monkeypatch):
    stream.add(make_documents(3))

    def refuse(self, *_):
        raise ValueError("not these")

    with monkeypatch.context() as context:
        context.setattr(StreamClusterer, "partial_fit", refuse)
        with pytest.raises(ValueError, match="not these"):
            stream.exchange([Document("new", "parcel")], ["d0"])
    assert (stream.n_documents, stream.check()) == (3, [])


def test_a_new_fit_that_moves_nothing_is_on_disk_all_the_same(folder):
    with DurableStream(folder) as stream:
        stream.add(make_documents(30))
        clusterer = stream._in_memory.clusterer
        snapshot, labels = clusterer.snapshot(), clusterer.labels_of(clusterer.ids())
        stream.add([Document("late", "…")])
        assert stream._relabel(snapshot, labels).n_moved == 0
        assert stream.check() == []


def test_a_full_disk_is_told_and_the_stream_goes_on_when_there_is_room(stream):
    stream.add(make_documents(30))
    n_pages = stream._database._value("PRAGMA page_count")
    stream._database._value(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(OSError, match="database or disk is full"):
        stream.add([Document(f"large{i}", "parcel " * 5000) for i in range(20)])
    assert (stream.n_documents, stream.check()) == (30, [])
    stream._database._value("PRAGMA max_page_count = 1000000")
    stream.add([Document("large", "parcel " * 5000)])
    assert (stream.n_documents, stream.check()) == (31, [])


@pytest.fixture
def room(stream):
    """Limit the files of this process to what is written ahead now."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit():
        size = (stream.folder / f"{FILE}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_documents_can_be_removed_when_the_disk_is_full(stream, room):
    for number in range(6):
        stream.add(make_documents(10, prefix=f"{number}-"))
    room()
    with pytest.raises(OSError, match="there is no room on the disk"):
        stream.add([Document("large", "parcel " * 50_000)])
    for number in range(5):
        assert len(stream.remove([f"{number}-{place}" for place in range(10)])) == 10
    assert stream.forget(keep=5) == [f"5-{place}" for place in range(5)]
    assert (stream.n_documents, stream.check()) == (5, [])


def test_the_reserve_is_given_up_for_removals_and_taken_again(stream, folder, monkeypatch):
    stream.add(make_documents(3))
    put_meta, reserve = Database.put_meta, folder / f"{FILE}-reserve"
    assert reserve.stat().st_size == RESERVE_SIZE

    def fail_if_full(self, values):
        if reserve.exists():
            raise DiskFullError("full")
        put_meta(self, values)

    with monkeypatch.context() as context:
        context.setattr(Database, "put_meta", fail_if_full)
        with pytest.raises(OSError, match="full"):
            stream.add([Document("new", "parcel")])
        assert reserve.exists()
        assert stream.remove(["d0"]) == ["d0"]
    assert reserve.stat().st_size == RESERVE_SIZE
    assert (stream.n_documents, stream.check()) == (2, [])


# ---------------------------------------------------------------------- checks and copies


@pytest.mark.parametrize(
    ("statement", "mistake"),
    [
        ("UPDATE clusters SET size = size + 1 WHERE id = 0", "cluster 0 has .* in the table of clusters"),
        ("UPDATE clusters SET n_words = 0 WHERE id = 1", "cluster 1 has .* with 0 words in the table of clusters"),
        ("DELETE FROM clusters WHERE id = 1", "cluster 1 has no document in the table of clusters"),
        ("INSERT INTO clusters VALUES (55, 0, NULL, 1, 1)", "cluster 55 has 1 documents"),
        ("UPDATE documents SET cluster = 44 WHERE id = 'd0'", "cluster 44 is there, but the next is to be"),
        ("UPDATE documents SET cluster = -1 WHERE id = 'd0'", "document 'd0'"),
        ("UPDATE documents SET counts = '{}' WHERE id = 'd0'", "cluster 0 has"),
        ("DELETE FROM documents WHERE id = 'd0'", "cluster 0 has"),
        ("UPDATE documents SET counts = '{' WHERE id = 'd0'", "is damaged"),
        ("DELETE FROM meta WHERE key = 'state'", "there is no state in table meta"),
        ("UPDATE meta SET value = '}' WHERE key = 'state'", "is damaged: table meta"),
    ],
)
def test_a_check_tells_what_is_wrong(folder, statement, mistake):
    with DurableStream(folder) as stream:
        stream.add(make_documents(30))
    assert check_folder(folder) == []
    change_file(folder, statement)
    assert any(re.search(mistake, found) for found in check_folder(folder)), check_folder(folder)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET cluster = 1 WHERE id = 'd0'",
        "UPDATE documents SET time = 5 WHERE id = 'd0'",
        "UPDATE documents SET counts = '{\"parcel\": 2}' WHERE id = 'd0'",
        "DELETE FROM documents WHERE id = 'd0'",
        "UPDATE meta SET value = json_set(value, '$.next_cluster', 1000) WHERE key = 'state'",
    ],
)
def test_a_check_tells_where_memory_and_disk_differ(folder, stream, statement):
    stream.add(make_documents(30))
    change_file(folder, statement)
    assert any("memory" in mistake for mistake in stream.check())


def test_a_check_tells_where_statistics_are_not_those_of_a_recount(stream, monkeypatch):
    stream.add(make_documents(30))
    sizes = stream._in_memory.clusterer.reader.cluster_sizes()
    wrong = {id: size._replace(n_words=size.n_words + 1) for id, size in sizes.items()}
    monkeypatch.setattr(StreamReader, "cluster_sizes", lambda self: wrong)
    assert len(stream.check()) == stream.n_clusters
    assert "words in memory" in stream.check()[0]


def test_a_check_tells_where_counts_of_words_in_memory_are_not_those_of_a_recount(stream):
    stream.add(make_documents(30))
    stream._in_memory.clusterer._statistics.clusters.pair_counts[0] += 1
    assert stream.check() == ["in memory 1 counts of words in clusters are not those of a recount"]


def test_a_check_of_a_folder_needs_a_stream_but_no_lock(folder, stream, tmp_path):
    stream.add(make_documents(3))
    assert check_folder(folder) == []
    with pytest.raises(ValueError, match="there is no stream in"):
        check_folder(tmp_path)


def test_a_damaged_stream_cannot_be_opened(folder):
    with DurableStream(folder) as stream:
        stream.add(make_documents(3))
    change_file(folder, "UPDATE documents SET counts = 'x'")
    with pytest.raises(DamagedStateError, match="is damaged"):
        DurableStream(folder)


def test_a_copy_is_a_stream_of_its_own(folder, stream, tmp_path):
    stream.add(make_documents(30))
    (tmp_path / "other").mkdir()
    stream.backup(tmp_path / "other" / FILE)
    stream.add(make_documents(3, prefix="later"))
    with DurableStream(tmp_path / "other") as copy:
        assert (copy.n_documents, copy.check()) == (30, [])
        copy.add(make_documents(3, prefix="mine"))


@contextmanager
def without_write_permission(folder):
    """A folder that this process cannot write to; as root, whom permissions do not stop, as another user."""
    is_root = os.geteuid() == 0
    folder.chmod(0o555)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.fixture
def public():
    """A folder that all users may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions of users")
def test_a_stream_in_a_folder_that_cannot_be_written_is_checked_and_copied(public):
    with DurableStream(public / "state") as stream:
        stream.add(make_documents(30))
        shutil.copytree(public / "state", public / "killed")
    (public / "copies").mkdir()
    (public / "copies").chmod(0o777)
    with without_write_permission(public / "state"):
        assert check_folder(public / "state") == []
        copy_database(public / "state" / FILE, public / "copies" / FILE)
        with pytest.raises(OSError, match=r"stream\.sqlite3.*readonly"):
            DurableStream(public / "state")
    (public / "killed" / f"{FILE}-shm").unlink()
    with without_write_permission(public / "killed"), pytest.raises(OSError, match=r"copy all files of the folder"):
        check_folder(public / "killed")
    assert check_folder(public / "copies") == []


# ---------------------------------------------------------------------- from a batch run


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run of 60 texts with ids and times, one of them without words."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    documents = [*make_documents(60), Document("none", "!")]
    times = [f"2024-01-{1 + i % 28:02}" for i in range(60)] + [None]
    corpus_ids = [document.id for document in documents]
    clustering = textmix.cluster([document.text for document in documents], ids=corpus_ids, times=times, random_state=0)
    clustering.rename(0, "The first").save(folder)
    return folder


@pytest.fixture
def run(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "run")


def test_a_run_becomes_a_stream(run, clock):
    clustering = textmix.load(run)
    with DurableStream(run) as stream:
        assert stream.n_documents == 61
        for place, label in enumerate(clustering.labels.tolist()):
            id = clustering.corpus.ids[place]
            assert (stream.document(id).cluster, stream.document(id).text) == (label, clustering.texts[place])
        assert stream.document("d1").time == "2024-01-02T00:00:00Z"
        assert stream.document("none").time == "2023-11-14T22:13:20Z"
        names = {cluster.id: cluster.name for cluster in stream.clusters()}
        assert names == {cluster.index: cluster.name for cluster in clustering.clusters}
        assert names[0] == "The first"
        assert stream.check() == []
        new = stream.add([Document("new", "parcel courier late delivery")])
        assert new[0].cluster == stream.document("d0").cluster
    with DurableStream(run) as stream:
        assert (stream.n_documents, stream.check()) == (62, [])
    assert textmix.load(run).n_clusters == clustering.n_clusters  # it is still a run


@pytest.mark.parametrize(
    "meaning", [{"encoder": "static"}, {"encoder": "own"}, {"vectors": np.eye(40, 5)}], ids=["static", "own", "given"]
)
def test_a_run_with_vectors_goes_on_by_words(meaning, tmp_path):
    documents = make_documents(40)
    clustering = textmix.cluster([document.text for document in documents], **meaning)
    clustering.save(tmp_path / "run")
    with DurableStream(tmp_path / "run") as stream:
        assert [stream.document(str(row)).cluster for row in range(1, 41)] == clustering.labels.tolist()
        assert stream.add([Document("new", documents[0].text)])[0].cluster >= 0
        assert stream.refit().wait(300).n_documents == 41
        assert stream.check() == []
    np.testing.assert_array_equal(textmix.load(tmp_path / "run").labels, clustering.labels)


def test_a_run_without_ids_has_its_rows_as_ids(tmp_path):
    textmix.cluster([document.text for document in make_documents(12)]).save(tmp_path / "run")
    with DurableStream(tmp_path / "run") as stream:
        assert [stream.document(str(row)) is None for row in (0, 1, 12, 13)] == [True, False, False, True]


def test_rows_without_an_id_are_never_called_as_others_are(tmp_path):
    texts, ids = [document.text for document in make_documents(6)], ["2", None, "", "7", "3", "2"]
    textmix.cluster(texts, ids=ids).save(tmp_path / "run")
    with DurableStream(tmp_path / "run") as stream:
        found = {id: stream.document(id).text for id in ("8", "9", "7", "3", "2")}  # the last "2" wins
        assert (list(found.values()), stream.n_documents) == (texts[1:], 5)
        assert stream.check() == []


def test_a_run_is_not_saved_to_the_folder_of_a_stream(run, folder):
    clustering = textmix.load(run)
    DurableStream(run).close()
    DurableStream(folder).close()
    for each in (run, folder):
        for force in (True, False):
            with pytest.raises(ValueError, match="holds a stream, whose texts a new run would not replace"):
                clustering.save(each, force=force)


def test_a_run_is_taken_over_as_a_whole_or_not_at_all(run, monkeypatch):
    def fail(self, names):
        raise BreaksOnceError

    with monkeypatch.context() as context:
        context.setattr(Database, "name_clusters", fail)
        with pytest.raises(BreaksOnceError):
            DurableStream(run)
    with closing(Database(run / FILE)) as database:
        assert (database.n_documents(), database.read_meta()) == (0, {})
    with DurableStream(run) as stream:
        assert (stream.n_documents, stream.check()) == (61, [])


def test_settings_of_a_run_hold(run):
    with pytest.raises(ValueError, match="has tokenizer="):
        DurableStream(run, clusterer=StreamClusterer(tokenizer=Tokenizer(stem=True, language="english")))
    with DurableStream(run, clusterer=StreamClusterer(beta=0.3)) as stream:
        assert stream.n_documents == 61


def test_a_run_that_never_had_its_texts_in_memory_is_refused(folder, monkeypatch):
    folder.mkdir()
    (folder / "run.json").touch()
    monkeypatch.setattr(saved_run, "load", lambda folder: SimpleNamespace(has_texts=False))
    with pytest.raises(ValueError, match="does not have all its texts in memory; cluster without --memory"):
        DurableStream(folder)
