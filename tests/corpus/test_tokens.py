"""What a word is, and that the kernels count as the reference does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpus import reference_tokens as reference
from textmix.corpus import Corpus, Tokenizer, counting
from textmix.corpus.characters import N_CODE_POINTS, character_classes, code_points
from textmix.corpus.counting import WordSplitter
from textmix.kernels import tokenize

SCRIPTS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
KINDS = {
    "separator": tokenize.SEPARATOR,
    "mark": tokenize.MARK,
    "ignored": tokenize.IGNORED,
    "word": tokenize.WORD,
    **{script: tokenize.FIRST_UNSPACED + number for number, script in enumerate(SCRIPTS)},
}

# Characters of every class, those that change under lower-casing and composition, and troublemakers.
INTERESTING = (
    "aAbßİΣσé_1٣. ,'\n\r\0\u0301\u0308\u0915\u093e手机日本語のはテストー猫ที่ນ๑ខ្មែမြန်"
    "\u00ad\u200b\u200d\ufe0f❤1\u20e3\ud800\udfff한글\uac00ﾞ"
)
texts_of_all_kinds = st.lists(
    st.one_of(
        st.text(alphabet=st.sampled_from(INTERESTING), max_size=30),
        st.text(alphabet=st.characters(exclude_categories=()), max_size=20),
    ),
    max_size=8,
)


def words(text: str, **settings: object) -> list[str]:
    return list(Corpus.from_texts([text], **{"language": None, **settings}).vocabulary)


def counters(corpus: Corpus) -> list[Counter[str]]:
    rows = []
    for document in range(corpus.n_documents):
        start, stop = corpus.counts.indptr[document : document + 2]
        columns = corpus.counts.indices[start:stop].tolist()
        assert columns == sorted(set(columns)), "each word once, in order"
        found = zip(columns, corpus.counts.data[start:stop].tolist(), strict=True)
        rows.append(Counter({corpus.vocabulary[column]: number for column, number in found}))
    return rows


class TestWords:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The quick, brown fox", ["the", "quick", "brown", "fox"]),
            ("don't you've", ["don", "t", "you", "ve"]),
            ("don’t", ["don", "t"]),
            ("snake_case C3PO 3.14", ["snake_case", "c3po", "3", "14"]),
            ("one\r\ntwo\rthree\tfour", ["one", "two", "three", "four"]),
            ("null\0byte", ["null", "byte"]),
            ("Ärger über Größe, STRASSE", ["ärger", "über", "größe", "strasse"]),
            ("यह हिन्दी का वाक्य है", ["यह", "हिन्दी", "का", "वाक्य", "है"]),
            ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
            ("한국어 단어는 띄어 쓴다", ["한국어", "단어는", "띄어", "쓴다"]),
            ("мама мыла раму", ["мама", "мыла", "раму"]),
            ("😀 ok 👍🏽 👨\u200d👩\u200d👧 fine ❤\ufe0f", ["ok", "fine"]),
            ("1\ufe0f\u20e3", ["1"]),
            ("\ud83d abc\udc00def", ["abc", "def"]),
            ("...", []),
            ("", []),
        ],
    )
    def test_are_runs_of_letters_digits_marks_and_underscores(self, text, expected):
        assert words(text, min_word_length=1) == sorted(set(expected))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("人工智能", ["人工", "工智", "智能"]),
            ("猫", ["猫"]),
            ("iPhone手机", ["iphone", "手机"]),
            ("2024年", ["2024", "年"]),
            ("日本語のテスト", ["日本", "本語", "の", "テス", "スト"]),
            ("カード", ["カード"]),  # カー and ド: the length mark belongs to カ
            ("らーめん", ["らーめ", "めん"]),
            ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
            ("ที่นี่", ["ที่นี่"]),  # two characters with their marks
            ("๑๒๓", ["๑๒๓"]),
            ("ຂ້ອຍ", ["ຂ້ອ", "ອຍ"]),
            ("ខ្មែរ", ["ខ្ម" + "ែ", "មែរ"]),
            ("人。工", ["人", "工"]),
        ],
    )
    def test_of_scripts_without_spaces_are_pairs_of_characters(self, text, expected):
        assert words(text) == sorted(set(expected))

    def test_of_scripts_without_spaces_have_no_minimum_length(self):
        assert words("猫 a ab", min_word_length=2) == ["ab", "猫"]

    @pytest.mark.parametrize("invisible", ["\u00ad", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200e", "\ufe0f"])
    def test_are_not_split_by_invisible_characters(self, invisible):
        assert words(f"kern{invisible}kraft kernkraft") == ["kernkraft"]

    def test_are_split_by_the_zero_width_space(self):
        assert words("kern\u200bkraft") == ["kern", "kraft"]

    def test_are_the_same_composed_or_not(self):
        assert words("Cafe\u0301 Café CAFÉ") == ["café"]

    def test_keep_accents_without_a_composed_form(self):
        assert words("x\u0304y\u0301z") == ["x\u0304ýz"]

    def test_do_not_begin_with_a_mark(self):
        assert words("\u0301abc . \u0301") == ["abc"]

    def test_keep_their_case_on_request(self):
        assert words("Apple apple", lowercase=False) == ["Apple", "apple"]

    def test_have_a_maximum_length(self):
        assert words("abc abcd abcde", max_word_length=4) == ["abc", "abcd"]


class TestCharacterClasses:
    def test_agree_with_unicode_names_and_categories(self):
        classes = character_classes()
        assert classes.size == N_CODE_POINTS
        assert classes[0] == tokenize.DOCUMENT_END
        for code in (*range(1, 0x33500), *range(0xE0000, 0xE0200)):
            if classes[code] != KINDS[reference.kind_of(chr(code))]:
                raise AssertionError(f"U+{code:04X} {reference.kind_of(chr(code))}: class {classes[code]}")

    def test_are_made_in_little_time(self):
        character_classes.cache_clear()
        start = time.process_time()
        character_classes()
        assert time.process_time() - start < 0.5  # some 20 ms; the bound allows for a busy machine


class TestKernels:
    @settings(deadline=None)
    @given(texts=texts_of_all_kinds, lowercase=st.booleans())
    @example(texts=["ΑΣ", "Σ"], lowercase=True)  # a sigma at the end of one text, then another text
    @example(texts=["ab\0", "\0"], lowercase=True)
    def test_count_as_the_reference_does(self, texts, lowercase):
        corpus = Corpus.from_texts(texts, lowercase=lowercase, language=None, min_word_length=1)
        vocabulary, expected = reference.count(texts, lowercase, min_word_length=1)
        assert corpus.vocabulary == vocabulary
        assert counters(corpus) == expected

    @settings(deadline=None)
    @given(
        texts=texts_of_all_kinds,
        stop_words=st.lists(st.text(alphabet=st.sampled_from(INTERESTING), max_size=3), max_size=3),
        lengths=st.tuples(st.integers(1, 3), st.integers(3, 8)),
    )
    def test_and_the_selection_agree_with_the_reference(self, texts, stop_words, lengths):
        shortest, longest = lengths
        corpus = Corpus.from_texts(
            texts, language=None, stop_words=stop_words, min_word_length=shortest, max_word_length=longest
        )
        vocabulary, expected = reference.count(texts, True, stop_words, shortest, longest)
        assert corpus.vocabulary == vocabulary
        assert counters(corpus) == expected

    @settings(max_examples=30, deadline=None)
    @given(texts=texts_of_all_kinds)
    def test_are_the_same_compiled_or_not(self, texts):
        compiled = _count_and_remap(texts)
        with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
            for name in ("find_slot", "add_word", "scan_word", "scan_pair", "sort_row"):
                patch.setattr(tokenize, name, getattr(tokenize, name).py_func)
            plain = _count_and_remap(texts, python=True)
        for left, right in zip(compiled, plain, strict=True):
            np.testing.assert_array_equal(left, right)

    def test_take_room_for_the_words_there_are_whatever_their_greatest_length(self):
        texts = [" ".join(f"word{number}" for number in range(70_000))]
        assert Corpus.from_texts(texts, language=None, max_word_length=10**30).n_words == 70_000

    def test_find_all_words_again_after_the_table_has_grown(self):
        rng = np.random.default_rng(0)
        distinct = [f"w{number:x}" for number in range(100_000)]
        texts = [" ".join(distinct[start : start + 100]) for start in range(0, 100_000, 100)]
        again = [texts[number] for number in rng.permutation(len(texts))]
        splitter = WordSplitter()
        batches = [splitter.count(texts), splitter.count(again)]
        assert splitter.words() == distinct
        totals = np.zeros(100_000, dtype=np.int64)
        for rows in batches:
            tokenize.add_word_totals(rows, 200, totals)
        assert set(totals.tolist()) == {2}

    def test_are_drawn_evenly_from_a_document_of_more_words_than_are_wanted(self):
        splitter = WordSplitter()
        rows = splitter.count([" ".join(["a"] * 600 + [f"w{n}" for n in range(400)]), "a b", "", "c " * 100])
        totals = np.zeros(len(splitter.words()), dtype=np.int64)
        tokenize.add_word_totals(rows, 100, totals)
        found = dict(zip(splitter.words(), totals.tolist(), strict=True))
        assert (found["a"], found["b"], found["c"]) == (61, 1, 100)
        assert sum(total for word, total in found.items() if word.startswith("w")) == 40

    def test_make_one_entry_for_each_word_of_a_document(self):
        splitter = WordSplitter()
        for _ in range(2):
            rows = splitter.count(["b b a b", "", "a b a"])
            assert rows.words.tolist() == [0, 1, 1, 0]
            assert rows.counts.tolist() == [3, 1, 2, 1]
            assert rows.row_ends.tolist() == [2, 2, 4]

    def test_tell_words_with_the_same_hash_apart(self, monkeypatch):
        # With a factor of 0 all words have the same hash. Compiled code would not see the change.
        monkeypatch.setattr(tokenize, "_HASH_FACTOR", np.uint64(0))
        for name in ("find_slot", "add_word", "scan_word", "scan_pair"):
            monkeypatch.setattr(tokenize, name, getattr(tokenize, name).py_func)
        table, rows = _empty_table(64), _empty_rows(100, 2)
        codes = code_points(["ab ba abc", "abc ab zz"], True)
        start = tokenize.CountingProgress(0, 0, 0, 0, 0)
        progress = tokenize.count_words.py_func(codes, character_classes(), table, rows, start, 0, 40)
        assert progress.n_words == 4
        assert rows.words[: progress.n_entries].tolist() == [0, 1, 2, 2, 0, 3]

    def test_sort_long_rows(self):
        rng = np.random.default_rng(1)
        row = rng.permutation(5_000)
        texts = [" ".join(f"w{word}" for word in range(5_000)), " ".join(f"w{word}" for word in row)]
        corpus = Corpus.from_texts(texts, language=None)
        np.testing.assert_array_equal(corpus.counts.toarray(), 1)
        np.testing.assert_array_equal(corpus.counts.indices[5_000:], np.arange(5_000))

    def test_count_one_document_of_five_megabytes(self):
        text = "lorem ipsum dolor " * 280_000
        corpus = Corpus.from_texts([text, "lorem"], language=None)
        assert corpus.counts.toarray().tolist() == [[280_000, 280_000, 280_000], [0, 0, 1]]

    def test_pass_over_an_endless_word(self):
        corpus = Corpus.from_texts(["x" * 5_000_000 + " end"])
        assert corpus.vocabulary == ["end"]


class TestBatches:
    TEXTS = ("the cat", "a cat sat", "", "手机 cat", "dog dog Dog", None, "e\u0301 é the", "\0 dog")

    @pytest.mark.parametrize("n_documents", [1, 2, 3, 7, 100])
    @pytest.mark.parametrize("n_characters", [1, 10, 1_000_000])
    def test_do_not_change_the_result(self, monkeypatch, n_documents, n_characters):
        expected = Corpus.from_texts(self.TEXTS, min_word_length=1)
        monkeypatch.setattr(counting, "_BATCH_DOCUMENTS", n_documents)
        monkeypatch.setattr(counting, "_BATCH_CHARACTERS", n_characters)
        corpus = Corpus.from_texts(self.TEXTS, min_word_length=1)
        assert corpus.vocabulary == expected.vocabulary
        assert counters(corpus) == counters(expected)

    def test_of_many_texts_are_counted_as_the_reference_does(self):
        rng = np.random.default_rng(2)
        texts = [" ".join(f"w{word}" for word in rng.zipf(1.5, size=6) if word < 500) for _ in range(2_000)]
        vocabulary, expected = reference.count(texts, least=3, most=1_000)
        corpus = Corpus.from_texts(texts, language=None, min_document_frequency=3, max_document_frequency=1_000)
        assert corpus.vocabulary == vocabulary
        assert counters(corpus) == expected


class TestSettings:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"language": "germna"}, "did you mean 'german'"),
            ({"language": "klingon"}, "there are: arabic"),
            ({"language": 3}, "language must be a name"),
            ({"language": "basque"}, "no stop words for 'basque'"),
            ({"language": "bulgarian", "stem": True}, "no stemmer for 'bulgarian'"),
            ({"language": None, "stem": True}, "needs a language"),
            ({"stop_words": "english"}, "set language"),
            ({"stop_words": ["a", 1]}, "1 is int"),
            ({"lowercase": "yes"}, "lowercase must be True or False"),
            ({"min_word_length": 0}, "min_word_length"),
            ({"min_word_length": 2.5}, "min_word_length"),
            ({"min_word_length": 5, "max_word_length": 4}, "below min_word_length"),
            ({"min_document_frequency": -1}, "min_document_frequency"),
            ({"max_document_frequency": 1.5}, "between 0.0 and 1.0"),
            ({"max_document_frequency": "many"}, "must be a number"),
            ({"tokenizer": "split"}, "must be a function"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            Tokenizer(**wrong)

    def test_accept_language_codes_and_any_case(self):
        assert Tokenizer(language="de").language == Tokenizer(language="German").language == "german"

    def test_accept_numbers_of_numpy(self):
        tokenizer = Tokenizer(min_word_length=np.int64(3), max_document_frequency=np.float32(0.5))
        assert tokenizer == Tokenizer(min_word_length=3, max_document_frequency=0.5)

    def test_survive_a_round_trip(self):
        tokenizer = Tokenizer(language="fr", stop_words={"b", "a"}, min_document_frequency=0.1)
        assert Tokenizer.from_settings(tokenizer.settings()) == tokenizer


class TestStemming:
    def test_merges_words_with_one_stem(self):
        corpus = Corpus.from_texts(
            ["connected connection connect", "connections dogs", "dog"], language="english", stem=True
        )
        assert corpus.vocabulary == ["connect", "dog"]
        assert corpus.counts.toarray().tolist() == [[3, 0], [1, 1], [0, 1]]
        assert corpus.counts.nnz == 4

    def test_counts_document_frequencies_of_stems(self):
        texts = ["dog dogs", "dogs", "cat", "cats bird"]
        corpus = Corpus.from_texts(
            texts, language="english", stem=True, min_document_frequency=2, max_document_frequency=2
        )
        assert corpus.vocabulary == ["cat", "dog"]
        assert corpus.counts.toarray().tolist() == [[0, 2], [0, 1], [1, 0], [1, 0]]

    def test_removes_stop_words_before(self):
        corpus = Corpus.from_texts(["doing doings"], language="english", stem=True)
        assert corpus.counts.toarray().tolist() == [[1]]
        assert corpus.count(["doing", "doings"]).toarray().tolist() == [[0], [1]]

    def test_finds_stems_in_words_not_seen_before(self):
        corpus = Corpus.from_texts(["connected"], language="english", stem=True)
        assert corpus.count(["connecting"]).toarray().tolist() == [[1]]

    def test_says_so_if_no_language_is_recognised(self):
        with pytest.raises(ValueError, match="none was recognised"):
            Corpus.from_texts(["mourinho seek killer instinct"], stem=True)

    def test_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr("textmix.corpus.stemming.Stemmer", None)
        with pytest.raises(ImportError, match=r"textmix\[stemming\]"):
            Corpus.from_texts(["dogs"], language="english", stem=True)


class TestOwnTokenizer:
    def test_replaces_splitting(self):
        corpus = Corpus.from_texts(["New-York, new-york", "A b"], tokenizer=lambda text: text.split(), language=None)
        assert corpus.vocabulary == ["new-york", "new-york,"]
        assert corpus.counts.toarray().tolist() == [[1, 1], [0, 0]]

    def test_sees_the_text_as_it_is(self):
        seen = []
        Corpus.from_texts(["Ein Text"], tokenizer=lambda text: seen.append(text) or [], language=None)
        assert seen == ["Ein Text"]

    def test_words_are_selected_as_others_are(self):
        corpus = Corpus.from_texts(["Don't DON'T stop me now cafe\u0301 x"], tokenizer=str.split, language="english")
        assert corpus.vocabulary == ["café", "stop"]

    def test_stop_words_may_be_whole(self):
        corpus = Corpus.from_texts(["rock-n-roll music"], tokenizer=str.split, stop_words=["Rock-n-Roll"])
        assert corpus.vocabulary == ["music"]

    def test_may_be_a_generator(self):
        corpus = Corpus.from_texts(["ab ab"], tokenizer=lambda text: (word for word in text.split()))
        assert corpus.counts.toarray().tolist() == [[2]]

    @pytest.mark.parametrize(("result", "what"), [("abc", "str"), (3, "int"), (["a", None], "NoneType")])
    def test_must_return_words(self, result, what):
        with pytest.raises(ValueError, match=f"position 1 .*{what}"):
            Corpus.from_texts(["x", "y"], tokenizer=lambda text: result if text == "y" else [])


def test_importing_the_corpus_does_not_import_duckdb():
    code = "import sys; from textmix.corpus import Corpus; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _empty_table(n_slots):
    return tokenize.WordTable(
        slots=np.zeros(n_slots, dtype=np.uint64),
        starts=np.zeros(n_slots // 2 + 1, dtype=np.int64),
        characters=np.zeros(8 * n_slots, dtype=np.uint32),
        last_entry=np.full(n_slots // 2, -1, dtype=np.int64),
    )


def _empty_rows(n_entries, n_documents):
    return tokenize.Rows(
        np.zeros(n_entries, dtype=np.int32),
        np.zeros(n_entries, dtype=np.int32),
        np.zeros(n_documents, dtype=np.int64),
    )


def _count_and_remap(texts, python=False):
    """All arrays that the kernels leave behind for a batch, its words sent to three columns."""

    def run(kernel, *arguments):
        return (kernel.py_func if python else kernel)(*arguments)

    codes = np.frombuffer(bytearray("".join(text + "\0" for text in texts).encode("utf-32-le", "surrogatepass")), "<u4")
    codes = codes[: run(tokenize.drop_ignored, codes, character_classes())]
    table, rows = _empty_table(1024), _empty_rows(codes.size, codes.size)
    progress = run(
        tokenize.count_words, codes, character_classes(), table, rows, tokenize.CountingProgress(0, 0, 0, 0, 0), 0, 40
    )
    n_entries, n_words = progress.n_entries, progress.n_words
    rows = tokenize.Rows(rows.words[:n_entries], rows.counts[:n_entries], rows.row_ends[: progress.n_documents])
    counted = [array.copy() for array in rows]
    refilled = table._replace(slots=np.zeros_like(table.slots))
    run(tokenize.fill_slots, refilled, n_words)
    totals = np.zeros(n_words, dtype=np.int64)
    run(tokenize.add_word_totals, rows, 5, totals)
    columns = (np.arange(n_words, dtype=np.int32) * 7) % 4 - 1
    frequencies, last_document = np.zeros(3, dtype=np.int64), np.full(3, -1, dtype=np.int64)
    run(tokenize.add_document_frequencies, rows, columns, last_document, 0, frequencies)
    n_left = run(tokenize.remap_words, rows, columns, np.full(3, -1, dtype=np.int64), 0)
    return [
        np.array(progress),
        codes,
        *table,
        refilled.slots,
        *counted,
        totals,
        frequencies,
        *rows,
        np.array(n_left),
    ]
