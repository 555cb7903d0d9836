"""A corpus on disk has the counts of one in memory; builds that broke off, and damages, are noticed."""

from __future__ import annotations

import gzip
import json
import math
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack

from textmix.corpus import Corpus, Tokenizer, counting
from textmix.corpus.readers import Batch, DocumentReader
from textmix.corpus.shards import (
    DamagedError,
    ShardCounts,
    count_shards,
    deal_out,
    put_together,
    shard_rows,
    shard_size,
)
from textmix.inference.sharded import deal_out_disk
from textmix.large import disk_build, shard_files
from textmix.large.disk_build import vocabulary_bytes
from textmix.large.disk_corpus import DiskCorpus

TEXTS = ["red red blue", "green blue", "", "blue and the of", "connected green connection"]
SETTINGS = [
    {},
    {"language": "english"},
    {"language": "english", "stem": True},
    {"language": None, "min_document_frequency": 2},
    {"language": None, "max_document_frequency": 0.5},
    {"language": "english", "stem": True, "min_document_frequency": 2, "max_document_frequency": 0.8},
    {"language": "english", "lowercase": False},
    {"tokenizer": str.split, "min_word_length": 1},
    {"stop_words": ["red"], "max_word_length": 5},
]
WORDS = "red Red blue green the The of and in to is connected connection connections a1 b2 c3 handy 手机手机 don't x"


def build(folder: Path, texts: list[str], batch_size: int = 20_000, tokenizer: Tokenizer | None = None, **options):
    batches = (Batch(texts[start : start + batch_size]) for start in range(0, len(texts), batch_size))
    return DiskCorpus.build(folder, batches, tokenizer or Tokenizer(), **options)


def rows_in_file_order(corpus: DiskCorpus, **options: bool) -> csr_array:
    """The rows of all shards, put back to where their documents are in the input."""
    parts = [corpus.shard(shard, **options) for shard in range(corpus.n_shards)]
    matrices = [
        csr_array((part.counts, part.words, part.row_starts), shape=(part.row_starts.size - 1, corpus.n_words))
        for part in parts
    ]
    documents = [document for p in range(len(parts)) for document in range(p, corpus.n_documents, len(parts))]
    return csr_array(vstack(matrices, format="csr"))[np.argsort(documents)]


def by_falling_frequency(corpus: Corpus) -> np.ndarray:
    frequencies = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    return np.argsort(-frequencies, kind="stable")


def assert_holds(stored: DiskCorpus, corpus: Corpus) -> None:
    """The corpus on disk is the one in memory, its columns by falling document frequency."""
    order = by_falling_frequency(corpus)
    expected = corpus.counts[:, order]
    expected.sort_indices()
    found = rows_in_file_order(stored)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)
    assert stored.vocabulary == [corpus.vocabulary[column] for column in order]
    assert stored.document_frequencies.tolist() == np.bincount(expected.indices, minlength=corpus.n_words).tolist()
    assert stored.tokenizer == corpus.tokenizer
    assert (stored.n_documents, stored.n_words, stored.n_tokens) == (
        corpus.n_documents,
        corpus.n_words,
        corpus.n_tokens,
    )
    assert stored.n_entries == corpus.counts.nnz
    assert stored.n_empty_documents == int(corpus.empty_documents.sum())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def small_buffers(monkeypatch):
    """Sizes at which a handful of texts fills every buffer more than once."""
    monkeypatch.setattr(counting, "_BATCH_DOCUMENTS", 2)
    monkeypatch.setattr(disk_build, "_BLOCK_ENTRIES", 8)
    monkeypatch.setattr(disk_build, "_BLOCK_DOCUMENTS", 3)
    monkeypatch.setattr(shard_files, "_ENTRIES_AT_ONCE", 12)
    monkeypatch.setattr(shard_files, "_ENTRIES_AT_ONCE_EACH", 1)
    monkeypatch.setattr(disk_build, "_DOCUMENTS_AT_ONCE", 4)
    monkeypatch.setattr(disk_build, "count_shards", lambda n_entries, n_documents: max(min(7, n_documents), 1))


class TestShards:
    @pytest.mark.parametrize(
        ("n_entries", "n_documents", "expected"),
        [
            (0, 0, 1),
            (0, 10, 1),
            (2**16, 10_000, 1),
            (2**16 + 1, 10_000, 2),
            (2**17 + 1, 10_000, 4),
            (64 * 2**16, 1_000_000, 64),
            (2**26, 10**8, 64),
            (2**26 + 1, 10**8, 65),
            (10**10, 10**9, math.ceil(10**10 / 2**20)),
            (10**6, 5, 5),
        ],
    )
    def test_are_as_many_as_the_data_ask_for(self, n_entries, n_documents, expected):
        assert count_shards(n_entries, n_documents) == expected

    @given(n_documents=st.integers(0, 50), number=st.integers(1, 9))
    def test_hold_every_document_once_at_its_place(self, n_documents, number):
        labels = np.arange(n_documents)
        parts = deal_out(labels, number)
        for shard, part in enumerate(parts):
            assert part.tolist() == labels[shard_rows(n_documents, number, shard)].tolist()
            assert part.size == shard_size(n_documents, number, shard)
            assert all(part[i // number] == i for i in range(n_documents) if i % number == shard)
        np.testing.assert_array_equal(put_together(parts), labels)

    def test_that_do_not_belong_together_are_refused(self):
        with pytest.raises(ValueError, match=r"have \[2, 2\] of them, not \[1, 3\]"):
            put_together([np.zeros(1), np.zeros(3)])


class TestBuilding:
    @pytest.mark.usefixtures("small_buffers")
    @pytest.mark.parametrize("given_settings", SETTINGS)
    @settings(max_examples=15)
    @given(
        texts=st.lists(st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join), max_size=25),
        batch_size=st.integers(1, 30),
    )
    def test_gives_the_counts_of_a_corpus_in_memory(self, given_settings, texts, batch_size):
        tokenizer = Tokenizer(**given_settings)
        with tempfile.TemporaryDirectory() as folder:
            try:
                corpus = Corpus.from_texts(texts, tokenizer)
            except ValueError as refusal:
                with pytest.raises(ValueError, match=re.escape(str(refusal))):
                    build(Path(folder), texts, batch_size, tokenizer)
            else:
                assert_holds(build(Path(folder), texts, batch_size, tokenizer), corpus)

    def test_recognises_the_language(self, tmp_path):
        texts = ["All human beings are born free and equal in dignity and rights. They are endowed with reason"]
        stored = build(tmp_path, texts)
        assert stored.tokenizer.language == "english"
        assert_holds(stored, Corpus.from_texts(texts))

    @pytest.mark.parametrize("texts", [[], [""], ["", "...", ""], ["red"], ["red", ""]])
    def test_takes_texts_without_words_and_no_texts(self, tmp_path, texts):
        stored = build(tmp_path, texts)
        assert stored.n_shards == 1
        assert_holds(stored, Corpus.from_texts(texts))

    @pytest.mark.parametrize("name", ["T", "R8"])
    def test_of_real_texts_gives_several_shards(self, tmp_path, real_data, name):
        with gzip.open(real_data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        stored = build(tmp_path / "disk", texts)
        assert stored.n_shards == count_shards(stored.n_entries, len(texts)) > 1
        assert_holds(stored, Corpus.from_texts(texts))

    def test_reads_files(self, tmp_path):
        path = tmp_path / "titles.csv"
        path.write_text("number,title\n" + "".join(f"{n},{text}\n" for n, text in enumerate(TEXTS)))
        with DocumentReader(path, text="title", batch_size=2) as reader:
            stored = DiskCorpus.build(tmp_path / "disk", reader, Tokenizer())
        assert_holds(stored, Corpus.from_files(path, text="title"))

    def test_does_not_depend_on_the_batches(self, tmp_path):
        texts = TEXTS * 400
        build(tmp_path / "0", texts, source={"size": 1})
        for number, batch_size in enumerate((1, 7, 256, 1_000), start=1):
            build(tmp_path / str(number), texts, batch_size, source={"size": 1})
            assert contents(tmp_path / str(number)) == contents(tmp_path / "0")

    def test_leaves_no_other_files_behind(self, tmp_path):
        build(tmp_path, TEXTS)
        assert sorted(contents(tmp_path)) == [
            "disk-corpus.json",
            "document_frequencies.npy",
            "shard-0000.counts",
            "shard-0000.row_starts",
            "shard-0000.words",
            "shard_checksums.npy",
            "shard_entries.npy",
            "vocabulary.json",
        ]

    @pytest.mark.usefixtures("small_buffers")
    def test_tells_how_far_it_is(self, tmp_path):
        ticks = []
        build(tmp_path, TEXTS * 4, 6, tick=lambda stage, n_documents: ticks.append((stage, n_documents)))
        assert [n for stage, n in ticks if stage == "reading"] == [6, 6, 6, 2]
        assert sum(n for stage, n in ticks if stage == "writing") == 20

    def test_needs_no_more_memory_than_allowed(self, tmp_path):
        texts = [f"w{number:x}" for number in range(5_000)]
        build(tmp_path / "enough", texts, memory=vocabulary_bytes(5_000))
        with pytest.raises(
            ValueError, match=r"first [\d,]+ texts have [\d,]+ distinct words.* 1 MB are allowed; .*more"
        ):
            build(tmp_path / "little", texts, memory=1_000_000)
        assert not (tmp_path / "little").exists()

    def test_stores_what_the_source_is(self, tmp_path):
        source = {"files": [["a.csv", 17, 1.5]], "text": None}
        assert build(tmp_path / "a", TEXTS, source=source).source == source
        assert build(tmp_path / "b", TEXTS).source == {}
        with pytest.raises(TypeError, match="JSON"):
            build(tmp_path / "c", TEXTS, source={"files": {1}})
        assert not (tmp_path / "c").exists()


class TestTheFolderOfABuild:
    def test_may_not_hold_other_files(self, tmp_path):
        (tmp_path / "vocabulary.json").write_text("mine")
        with pytest.raises(ValueError, match=r'holds other files, such as "vocabulary\.json"; .*of its own'):
            build(tmp_path, TEXTS)
        assert (tmp_path / "vocabulary.json").read_text() == "mine"
        (tmp_path / "unfinished").touch()
        (tmp_path / "thesis.txt").write_text("mine")
        with pytest.raises(ValueError, match=r'such as "thesis\.txt"'):
            build(tmp_path, TEXTS, replace=True)
        assert (tmp_path / "vocabulary.json").read_text() == "mine"

    def test_may_not_be_a_file(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(ValueError, match="is a file"):
            build(tmp_path / "file", TEXTS)

    def test_may_not_hold_a_corpus_unless_it_is_to_be_replaced(self, tmp_path):
        build(tmp_path, TEXTS)
        with pytest.raises(ValueError, match="holds a corpus already"):
            build(tmp_path, ["yellow"])
        assert DiskCorpus.open(tmp_path).n_documents == 5
        assert_holds(build(tmp_path, ["yellow"], replace=True), Corpus.from_texts(["yellow"]))

    @pytest.mark.parametrize("stage", ["reading", "writing"])
    def test_is_as_before_after_an_error(self, tmp_path, stage):
        def interrupt(name: str, n_documents: int) -> None:
            if name == stage:
                raise KeyboardInterrupt

        (tmp_path / "empty").mkdir()
        for folder in (tmp_path / "new", tmp_path / "empty"):
            with pytest.raises(KeyboardInterrupt):
                build(folder, TEXTS, tick=interrupt)
        assert [path.name for path in tmp_path.iterdir()] == ["empty"]
        assert not any((tmp_path / "empty").iterdir())


# Forks a child for each place where it kills itself: while reading, while writing, before each write to the
# disk (fsync), each rename and each removal.
KILLING = """
import os, shutil, signal, sys
from pathlib import Path
from textmix.corpus import Tokenizer
from textmix.corpus.readers import Batch
from textmix.large import DiskCorpus

folder = Path(sys.argv[1])
texts = ["red green blue", "green yellow"] * 1_000


def build(target, tick=None):
    batches = (Batch(texts[start : start + 500]) for start in range(0, len(texts), 500))
    return DiskCorpus.build(target, batches, Tokenizer(), tick=tick, replace=True)


def build_and_die(target, place, number):
    calls = 0

    def count(name):
        nonlocal calls
        calls += name == place
        if name == place and calls == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(name):
        original = getattr(os, name)
        return lambda *arguments: (count(name), original(*arguments))[1]

    child = os.fork()
    if child == 0:
        for name in ("fsync", "replace", "unlink"):
            setattr(os, name, deadly(name))
        build(target, lambda stage, n_documents: count(stage))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(target):
    return {path.name: path.read_bytes() for path in target.iterdir()}


build(folder / "whole")
whole = contents(folder / "whole")
kills = []
for place in ("reading", "writing", "fsync", "replace", "unlink", "unlink of an earlier one"):
    number = 1
    while True:
        target = folder / f"{place}{number}"
        if place == "unlink of an earlier one":
            shutil.copytree(folder / "whole", target)
        code = build_and_die(target, place.split()[0], number)
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        kills.append(place.split()[0])
        try:
            DiskCorpus.open(target)
            assert contents(target).items() >= whole.items(), (place, number)
            kills[-1] = "complete"
        except ValueError as error:
            assert str(error) == f"the corpus in {target} was not built to its end; build it again", error
            build(target)
            assert contents(target) == whole, (place, number)
        number += 1
print(*kills)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_killed_build_is_never_taken_for_a_complete_one(tmp_path):
    command = [sys.executable, "-c", KILLING, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    kills = result.stdout.split()
    assert {place: kills.count(place) for place in ("reading", "writing")} == {"reading": 4, "writing": 1}
    # Complete: before an earlier corpus is touched, and when only the mark of an unfinished build is left over.
    assert set(kills) >= {"fsync", "replace", "unlink", "complete"}


class TestOpening:
    def test_gives_the_same_corpus(self, tmp_path):
        stored = build(tmp_path, TEXTS, tokenizer=Tokenizer(stop_words=["red"], min_document_frequency=0.1))
        opened = DiskCorpus.open(tmp_path)
        assert_holds(opened, Corpus.from_texts(TEXTS, stored.tokenizer))
        assert opened.tokenizer == stored.tokenizer

    def test_refuses_what_is_not_there(self, tmp_path):
        with pytest.raises(ValueError, match="is not a folder"):
            DiskCorpus.open(tmp_path / "none")
        with pytest.raises(ValueError, match=r"there is no disk-corpus\.json in it"):
            DiskCorpus.open(tmp_path)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("disk-corpus.json", b"{", "cannot be read"),
            ("disk-corpus.json", b'{"format": "textmix disk-corpus", "version": 2}', "newer textmix .*upgrade"),
            (
                "disk-corpus.json",
                b'{"format": "textmix disk-corpus", "version": 1, "settings": {}, "checksums": {}}',
                "'n_documents' is missing",
            ),
            ("shard-0000.words", b"1234", r"shard-0000\.words has 4 bytes, not 32; build the corpus again"),
            ("document_frequencies.npy", b"", "cannot be read"),
        ],
    )
    def test_refuses_what_is_damaged(self, tmp_path, name, content, message):
        build(tmp_path, TEXTS)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            DiskCorpus.open(tmp_path)

    def test_refuses_what_is_incomplete(self, tmp_path):
        stored = build(tmp_path, TEXTS)
        (tmp_path / "shard-0000.counts").unlink()
        for read in (lambda: DiskCorpus.open(tmp_path), lambda: stored.shard(0)):
            with pytest.raises(ValueError, match=r"shard-0000\.counts is missing; build the corpus again"):
                read()

    @pytest.mark.usefixtures("small_buffers")
    def test_leaves_the_look_at_the_contents_to_reading_them(self, tmp_path):
        build(tmp_path, TEXTS)
        for name in ("shard-0003.row_starts", "shard-0001.words", "shard-0000.counts", "vocabulary.json"):
            content = bytearray((tmp_path / name).read_bytes())
            content[-1] ^= 1
            (tmp_path / name).write_bytes(content)
        opened = DiskCorpus.open(tmp_path)
        assert opened.shard(4).row_starts.tolist() == [0, 3]
        for shard, name in ((3, "row_starts"), (1, "words"), (0, "counts")):
            with pytest.raises(ValueError, match=rf"shard-000{shard}\.{name} is damaged.*build"):
                opened.shard(shard)
        with pytest.raises(ValueError, match=r"vocabulary\.json is damaged"):
            _ = opened.vocabulary


def correct_checksum(folder, name, array) -> None:
    """Write numbers of a corpus so that its checksums are right."""
    manifest = json.loads((folder / "disk-corpus.json").read_text())
    if name.endswith(".npy"):
        np.save(folder / name, array)
        manifest["checksums"][name] = zlib.crc32(array.tobytes())
    elif name == "vocabulary.json":
        (folder / name).write_bytes(array)
        manifest["settings"]["vocabulary_checksum"] = zlib.crc32(array)
    else:
        array.tofile(folder / name)
        shard, kind = int(name[6:10]), ShardCounts._fields.index(name.split(".")[1])
        checksums = np.load(folder / "shard_checksums.npy")
        checksums[shard, kind] = zlib.crc32(array.tobytes())
        np.save(folder / "shard_checksums.npy", checksums)
        manifest["checksums"]["shard_checksums.npy"] = zlib.crc32(checksums.tobytes())
    (folder / "disk-corpus.json").write_text(json.dumps(manifest))


class TestNumbersThatCannotBe:
    @pytest.mark.parametrize(
        ("name", "kind", "place", "number", "message"),
        [
            ("row_starts", "<i8", 0, 1, r"row_starts does not go from 0"),
            ("row_starts", "<i8", -1, 1, r"row_starts does not go from 0"),
            ("row_starts", "<i8", 1, 10**12, r"row_starts falls"),
            ("row_starts", "<i8", 1, -5, r"row_starts falls"),
            ("words", "<u4", 0, 2**31, r"words has 2147483648"),
            ("words", "<u4", 1, 0, r"words does not rise within row 0"),
            ("counts", "<i4", 0, 0, r"counts has 0; counts are above 0"),
            ("counts", "<i4", -1, -3, r"counts has -3; counts are above 0"),
        ],
    )
    def test_are_refused_when_a_shard_is_read(self, tmp_path, name, kind, place, number, message):
        build(tmp_path, TEXTS)
        file = f"shard-0000.{name}"
        array = np.fromfile(tmp_path / file, kind)
        array[place] = number
        correct_checksum(tmp_path, file, array)
        opened = DiskCorpus.open(tmp_path)
        with pytest.raises(DamagedError, match=message):
            opened.shard(0)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("document_frequencies.npy", np.array([3])),
            ("document_frequencies.npy", np.array([[3]])),
            ("document_frequencies.npy", np.array([-3, -3])),
            ("shard_entries.npy", np.array([], np.int64)),
            ("shard_entries.npy", np.array([10**15])),
            ("shard_entries.npy", np.array([-1])),
            ("shard_checksums.npy", np.zeros(3, np.uint32)),
        ],
    )
    def test_are_refused_on_opening(self, tmp_path, name, array):
        build(tmp_path, TEXTS)
        correct_checksum(tmp_path, name, array)
        with pytest.raises(ValueError, match="is damaged"):
            DiskCorpus.open(tmp_path)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_documents", -1),
            ("n_documents", 10**6),
            ("n_documents", "x"),
            ("n_empty_documents", 99),
            ("n_tokens", 1.5),
            ("n_tokens", 2**70),
            ("source", 3),
            ("tokenizer", {"lowercase": True}),
        ],
    )
    def test_are_refused_in_the_manifest(self, tmp_path, name, value):
        build(tmp_path, TEXTS)
        manifest = json.loads((tmp_path / "disk-corpus.json").read_text())
        manifest["settings"][name] = value
        (tmp_path / "disk-corpus.json").write_text(json.dumps(manifest))
        with pytest.raises(ValueError, match=r"is damaged|bytes, not"):
            DiskCorpus.open(tmp_path)

    @pytest.mark.parametrize("words", [b"[]", b"[1]", b'["a", "a"]', b"{}", b"[" * 100_000])
    def test_are_refused_in_the_vocabulary(self, tmp_path, words):
        build(tmp_path, TEXTS)
        correct_checksum(tmp_path, "vocabulary.json", words)
        with pytest.raises(ValueError, match=r"vocabulary\.json is damaged"):
            _ = DiskCorpus.open(tmp_path).vocabulary

    def test_are_refused_where_shards_and_manifest_differ(self, tmp_path):
        build(tmp_path, TEXTS)
        counts = np.fromfile(tmp_path / "shard-0000.counts", "<i4")
        correct_checksum(tmp_path, "shard-0000.counts", counts + 2**20)
        with pytest.raises(DamagedError, match="do not belong to its manifest"):
            deal_out_disk(DiskCorpus.open(tmp_path), 0.1, lambda _: None)

    def test_are_not_looked_for_through_links(self, tmp_path):
        build(tmp_path / "corpus", TEXTS)
        path = tmp_path / "corpus" / "shard-0000.words"
        path.rename(tmp_path / "before")
        path.symlink_to(tmp_path / "before")
        with pytest.raises(ValueError, match="is a symbolic link"):
            DiskCorpus.open(tmp_path / "corpus")


class TestShard:
    @pytest.mark.usefixtures("small_buffers")
    def test_is_arrays_of_fixed_types_that_may_be_mapped(self, tmp_path):
        stored = build(tmp_path, [*TEXTS, "", "", "red"])
        for shard in range(stored.n_shards):
            read, mapped = stored.shard(shard), stored.shard(shard, mmap=True)
            assert [array.dtype for array in read] == [np.int64, np.uint32, np.int32]
            for left, right in zip(read, mapped, strict=True):
                assert type(left) is np.ndarray
                assert left.flags.owndata
                np.testing.assert_array_equal(left, right)
        assert isinstance(stored.shard(0, mmap=True).words, np.memmap)

    def test_that_is_not_there_is_refused(self, tmp_path):
        stored = build(tmp_path, TEXTS)
        for shard in (-1, 1):
            with pytest.raises(ValueError, match=f"no shard {shard}; there are 1"):
                stored.shard(shard)

    def test_of_the_largest_size_and_the_words_are_what_is_estimated(self, tmp_path):
        stored = build(tmp_path, [f"w{number % 997} v{number % 3}" for number in range(20_000)])
        largest = max(sum(array.nbytes for array in stored.shard(p)) for p in range(stored.n_shards))
        words = sum(map(sys.getsizeof, stored.vocabulary)) + sys.getsizeof(stored.vocabulary)
        assert largest + words < stored.estimate() < largest + 2 * words


class TestFromCorpus:
    @pytest.mark.usefixtures("small_buffers")
    @pytest.mark.parametrize("given_settings", SETTINGS)
    def test_writes_what_a_build_writes(self, tmp_path, given_settings):
        tokenizer = Tokenizer(**given_settings)
        stored = DiskCorpus.from_corpus(tmp_path / "a", Corpus.from_texts(TEXTS * 9, tokenizer))
        build(tmp_path / "b", TEXTS * 9, tokenizer=tokenizer)
        assert contents(tmp_path / "a") == contents(tmp_path / "b")
        assert_holds(stored, Corpus.from_texts(TEXTS * 9, tokenizer))

    def test_leaves_the_corpus_as_it_is(self, tmp_path):
        corpus = Corpus.from_texts(TEXTS)
        before = corpus.counts.copy()
        DiskCorpus.from_corpus(tmp_path, corpus)
        np.testing.assert_array_equal(corpus.counts.indices, before.indices)
        np.testing.assert_array_equal(corpus.counts.data, before.data)

    def test_takes_counts(self, tmp_path):
        stored = DiskCorpus.from_corpus(tmp_path, Corpus.from_counts([[0, 0, 2], [0, 1, 1]]), source={"a": 1})
        assert stored.vocabulary == ["word_2", "word_1", "word_0"]
        assert rows_in_file_order(stored).toarray().tolist() == [[2, 0, 0], [1, 1, 0]]
        assert (stored.tokenizer, stored.source) == (None, {"a": 1})
        with pytest.raises(ValueError, match="made from counts"):
            stored.count(["red"])
        with pytest.raises(ValueError, match="leave the tokenizer out"):
            DiskCorpus.open(tmp_path, str.split)

    @pytest.mark.parametrize("count", [0.5, 2**31])
    def test_refuses_counts_that_are_not_int32(self, tmp_path, count):
        with pytest.raises(ValueError, match="whole numbers below 2"):
            DiskCorpus.from_corpus(tmp_path / "a", Corpus.from_counts([[count]]))
        assert not (tmp_path / "a").exists()


class TestCount:
    def test_gives_the_columns_of_the_corpus(self, tmp_path):
        tokenizer = Tokenizer(language="english", stem=True, min_document_frequency=2)
        corpus = Corpus.from_texts(TEXTS, tokenizer)
        new_texts = ["blue yellow greens", None, "red connect"]
        expected = corpus.count(new_texts)[:, by_falling_frequency(corpus)]
        counts = build(tmp_path, TEXTS, tokenizer=tokenizer).count(new_texts)
        np.testing.assert_array_equal(counts.toarray(), expected.toarray())
        assert counts.sum() == 2

    def test_needs_a_tokenizer_of_your_own_again(self, tmp_path):
        stored = build(tmp_path, ["red-blue", "blue"], tokenizer=Tokenizer(tokenizer=lambda text: text.split("-")))
        assert stored.count(["red-red"]).toarray().tolist() == [[0, 2]]
        with pytest.raises(ValueError, match="give it again"):
            DiskCorpus.open(tmp_path).count(["red"])
        opened = DiskCorpus.open(tmp_path, lambda text: text.split("-"))
        assert opened.count(["blue-red"]).toarray().tolist() == [[1, 1]]


# Prints the bytes of the counts, and by how many the peak of memory rose above that of a small build.
MEASURING = """
import random, sys
from pathlib import Path
from textmix.corpus import Tokenizer
from textmix.corpus.readers import Batch
from textmix.large import DiskCorpus


def peak():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


folder, n_batches = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(0)
words = [f"word{number}" for number in range(3_000)]
batch = Batch([" ".join(rng.choices(words, k=8)) for _ in range(20_000)])
DiskCorpus.build(folder / "small", [batch], Tokenizer())
before = peak()
corpus = DiskCorpus.build(folder / "large", (batch for _ in range(n_batches)), Tokenizer(min_document_frequency=2))
for shard in range(corpus.n_shards):
    corpus.shard(shard)
print(8 * (corpus.n_entries + corpus.n_documents), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_documents(tmp_path):
    sizes, peaks = [], []
    for n_batches in (5, 20):  # 100,000 and 400,000 documents
        command = [sys.executable, "-c", MEASURING, str(tmp_path / str(n_batches)), str(n_batches)]
        size, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        sizes.append(int(size))
        peaks.append(int(peak))
    added = sizes[1] - sizes[0]
    assert added > 20e6
    assert peaks[1] - peaks[0] < 0.1 * added
