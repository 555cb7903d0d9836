"""Corpora from texts, counts and files; stop words and languages; counting new texts; saving and loading."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from textmix.corpus import Corpus, Tokenizer, files
from textmix.corpus.stop_words import detect_language, language_stop_words, stop_word_languages

DATA = Path(os.environ.get("TEXTMIX_DATA", Path(__file__).parents[3] / "shared" / "data"))

# The first article of the Universal Declaration of Human Rights.
ARTICLES = {
    "english": "All human beings are born free and equal in dignity and rights. They are endowed with "
    "reason and conscience and should act towards one another in a spirit of brotherhood.",
    "german": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
    "und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "french": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués "
    "de raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
    "fraternité.",
    "spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
    "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de "
    "razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
    "italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati "
    "di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di "
    "fratellanza.",
    "dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd "
    "met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap "
    "te gedragen.",
    "swedish": "Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med "
    "förnuft och samvete och bör handla gentemot varandra i en anda av broderskap.",
    "polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "ukrainian": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені "
    "розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और "
    "अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
    "japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間"
    "は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    "persian": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل "
    "و وجدان می‌باشند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
}


def read_texts(name: str) -> list[str]:
    path = DATA / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there; set TEXTMIX_DATA to the folder of the data sets")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def assert_same(left: Corpus, right: Corpus) -> None:
    assert left.counts.dtype == right.counts.dtype
    np.testing.assert_array_equal(left.counts.toarray(), right.counts.toarray())
    assert left.vocabulary == right.vocabulary
    assert (left.ids, left.labels, left.tokenizer) == (right.ids, right.labels, right.tokenizer)


class TestFromTexts:
    def test_gives_sorted_counts_of_int32(self):
        corpus = Corpus.from_texts(["red red blue", "green blue"], ids=[7, 8], labels=["x", "y"])
        assert corpus.vocabulary == ["blue", "green", "red"]
        assert corpus.counts.toarray().tolist() == [[1, 0, 2], [1, 1, 0]]
        assert isinstance(corpus.counts, sparse.csr_array)
        assert corpus.counts.dtype == corpus.counts.indices.dtype == corpus.counts.indptr.dtype == np.int32
        assert corpus.counts.has_sorted_indices
        assert (corpus.n_documents, corpus.n_words, corpus.n_tokens) == (2, 3, 5)
        assert (corpus.ids, corpus.labels) == (["7", "8"], ["x", "y"])

    def test_makes_ids_and_labels_strings(self):
        corpus = Corpus.from_texts(["red"] * 3, ids=np.arange(3), labels=["x", None, float("nan")])
        assert corpus.ids == ["0", "1", "2"]
        assert corpus.labels == ["x", "", ""]

    def test_reads_a_generator_once(self):
        corpus = Corpus.from_texts(text for text in ["red", "blue"])
        assert corpus.counts.toarray().tolist() == [[0, 1], [1, 0]]

    def test_reads_arrays_and_columns(self):
        pandas = pytest.importorskip("pandas")
        texts = ["red", "blue"]
        for column in (np.array(texts), np.array(texts, dtype=object), pandas.Series(texts), tuple(texts)):
            assert Corpus.from_texts(column).vocabulary == sorted(texts)

    def test_keeps_a_row_for_every_text(self):
        corpus = Corpus.from_texts(["red", "", None, float("nan"), np.float32("nan"), "the of", "..."])
        assert corpus.empty_documents.tolist() == [False, True, True, True, True, False, True]
        corpus = Corpus.from_texts(["red", "the of"], language="english")
        assert corpus.empty_documents.tolist() == [False, True]

    def test_takes_missing_values_of_pandas(self):
        pandas = pytest.importorskip("pandas")
        column = pandas.Series(["red", None, pandas.NA, pandas.NaT], dtype=object)
        assert Corpus.from_texts(column).empty_documents.tolist() == [False, True, True, True]

    def test_of_nothing_is_a_corpus_of_nothing(self):
        for texts in ([], iter([])):
            corpus = Corpus.from_texts(texts)
            assert (corpus.n_documents, corpus.n_words, corpus.n_tokens) == (0, 0, 0)
            assert corpus.empty_documents.shape == (0,)

    @pytest.mark.parametrize(
        ("texts", "message"),
        [
            ("one text", r"single str; .* \[text\]"),
            (b"one text", "single bytes"),
            (["a", 3], "position 1 is int"),
            (["a"] * 1_000 + [["b"]], "position 1000 is list"),
            (["a", b"b"], "position 1 is bytes"),
            ({"a": 1}, "not dict"),
            (np.array([["a"]]), "not ndarray"),
            (3, "not int"),
        ],
    )
    def test_refuses_what_is_no_list_of_texts(self, texts, message):
        with pytest.raises(ValueError, match=message):
            Corpus.from_texts(texts)

    def test_takes_a_tokenizer_or_its_settings(self):
        settings = {"language": None, "min_word_length": 4}
        assert_same(
            Corpus.from_texts(["red blue"], Tokenizer(**settings)),
            Corpus.from_texts(["red blue"], **settings),
        )
        with pytest.raises(ValueError, match="not both"):
            Corpus.from_texts(["red"], Tokenizer(), stem=True)
        with pytest.raises(ValueError, match="no setting 'stemming'; there are: lowercase"):
            Corpus.from_texts(["red"], stemming=True)

    def test_refuses_ids_and_labels_of_another_number(self):
        with pytest.raises(ValueError, match="there are 1 labels, but 2 documents"):
            Corpus.from_texts(["red", "blue"], labels=["x"])
        with pytest.raises(ValueError, match="ids is a single str"):
            Corpus.from_texts(["red", "blue"], ids="ab")


class TestDocumentFrequencies:
    TEXTS = ("a1 b2 c3", "a1 b2", "a1", "a1 a1")

    @pytest.mark.parametrize(
        ("least", "most", "kept"),
        [
            (1, 1.0, ["a1", "b2", "c3"]),
            (2, 1.0, ["a1", "b2"]),
            (0.5, 1.0, ["a1", "b2"]),
            (1, 3, ["b2", "c3"]),
            (1, 0.5, ["b2", "c3"]),
            (2, 0.5, ["b2"]),
            (1.0, 1.0, ["a1"]),
            (0, 1, ["c3"]),
        ],
    )
    def test_bound_the_vocabulary(self, least, most, kept):
        corpus = Corpus.from_texts(self.TEXTS, min_document_frequency=least, max_document_frequency=most)
        assert corpus.vocabulary == kept
        assert corpus.n_documents == 4

    def test_as_fractions_are_not_subject_to_rounding(self):
        texts = ["red blue"] * 7 + ["blue"] * 93  # 0.07 × 100 > 7 in floating point
        assert "red" in Corpus.from_texts(texts, min_document_frequency=0.07).vocabulary

    def test_that_leave_nothing_are_refused(self):
        with pytest.raises(ValueError, match=r"min_document_frequency=5 .* leave no word.* most frequent in 4"):
            Corpus.from_texts(self.TEXTS, min_document_frequency=5)

    def test_of_texts_without_words_are_no_error(self):
        assert Corpus.from_texts(["", "..."], min_document_frequency=2).n_words == 0


class TestStopWords:
    def test_in_english_are_function_words(self):
        words = language_stop_words("english")
        assert 180 <= len(words) <= 230
        assert words >= {
            "the",
            "of",
            "and",
            "don",
            "doesn",
            "isn",
            "ll",
            "ve",
            "re",
            "s",
            "t",
            "would",
            "itself",
        }
        assert not words & {
            "system",
            "problem",
            "bill",
            "fire",
            "computer",
            "help",
            "please",
            "us",
            "won",
            "new",
        }

    def test_of_every_language_are_single_words(self):
        assert len(stop_word_languages()) > 30
        for language in stop_word_languages():
            words = language_stop_words(language)
            assert len(words) > 30, language
            assert not any(" " in word or "'" in word or word != word.lower() for word in words), language

    def test_in_turkish_are_spelled_in_turkish(self):
        assert {"altmış", "bazı", "beş"} <= language_stop_words("turkish")

    def test_are_those_of_the_language(self):
        texts = ["Die Katze und der Hund"]
        assert Corpus.from_texts(texts, language="german").vocabulary == ["hund", "katze"]
        assert Corpus.from_texts(texts, language="english").vocabulary == [
            "der",
            "die",
            "hund",
            "katze",
            "und",
        ]

    def test_may_be_your_own(self):
        corpus = Corpus.from_texts(["the cat don't Cat mat"], language="english", stop_words=["Cat", "don't"])
        assert corpus.vocabulary == ["mat", "the"]
        assert Corpus.from_texts(["the cat"], language="english", stop_words=()).vocabulary == ["cat", "the"]
        assert Corpus.from_texts(["the cat"], stop_words=iter(["cat"])).vocabulary == ["the"]

    def test_where_case_is_kept(self):
        corpus = Corpus.from_texts(["The IT of THE it"], language="english", lowercase=False)
        assert corpus.vocabulary == ["IT", "THE"]


QUESTION = (
    "this is what it was about, and they have not been at the house with us: where can my money be or will you go"
)


class TestLanguage:
    @pytest.mark.parametrize("language", ARTICLES)
    def test_is_recognised(self, language):
        corpus = Corpus.from_texts([ARTICLES[language]])
        assert corpus.tokenizer.language == language
        assert not language_stop_words(language) & set(corpus.vocabulary)

    def test_is_recognised_whatever_the_splitting(self):
        for settings in ({"lowercase": False}, {"tokenizer": str.split}):
            assert Corpus.from_texts([ARTICLES["german"]], **settings).tokenizer.language == "german"

    def test_is_none_for_a_few_words(self):
        for text in ("end", "red blue", "size s size m size l", "1 2 3", ""):
            corpus = Corpus.from_texts([text], min_word_length=1)
            assert corpus.tokenizer.language is None
            assert set(corpus.vocabulary) == set(text.split())

    def test_that_others_fit_as_well_is_english_or_none(self):
        words = ["in", "an", "was", "der", "die", "das"]
        assert detect_language(words[:3], [1, 1, 1]) == "english"  # all three are German, too
        assert detect_language(["aber", "the", "die", "of", "der", "and"], [1] * 6) == "english"
        assert detect_language(words, [1] * 6) == "german"

    @pytest.mark.parametrize("settings", [{}, {"tokenizer": str.split}])
    def test_is_recognised_beside_a_text_of_a_hundred_thousand_other_words(self, settings):
        log = " ".join(f"0x{number:x}" for number in range(100_000))
        corpus = Corpus.from_texts([*["where is the parcel"] * 1_000, log], **settings)
        assert corpus.tokenizer.language == "english"

    def test_that_is_in_doubt_is_warned_of(self):
        texts = ["where is the parcel", *[f"part-{number} steel bolt zinc pack box" for number in range(400)]] * 2
        texts += [QUESTION] * 10
        message = (
            "no language was recognised, so no stop words are left out; those of english are only 4 % of the words: "
            "set language to 'english', or to None if none are to be left out"
        )
        with pytest.warns(UserWarning, match=f"^{message}$"):
            corpus = Corpus.from_texts(texts)
        assert corpus.tokenizer.language is None

    @pytest.mark.parametrize(
        "settings", [{"language": None}, {"language": "english"}, {"stop_words": ["box"]}, {"stop_words": ()}]
    )
    @pytest.mark.filterwarnings("error")
    def test_that_was_chosen_is_not_warned_of(self, settings):
        texts = [f"part-{number} steel bolt zinc pack box" for number in range(400)]
        Corpus.from_texts([*texts, *[QUESTION] * 5], **settings)

    @pytest.mark.filterwarnings("error")
    def test_of_ids_and_of_a_few_words_is_not_warned_of(self):
        rng = np.random.default_rng(0)
        hexadecimal = [" ".join(f"{byte:02x}" for byte in rng.integers(0, 256, 40)) for _ in range(500)]
        for texts in (hexadecimal, [f"id-{number}" for number in range(5_000)], ["refund money", "the login"] * 20):
            assert Corpus.from_texts(texts).tokenizer.language is None

    @pytest.mark.parametrize("name", ["R8", "20NG", "StackOverflow"])
    def test_of_raw_data_sets_is_english(self, name):
        corpus = Corpus.from_texts(read_texts(name))
        assert corpus.tokenizer.language == "english"
        assert "the" not in corpus.vocabulary

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("name", ["T", "Tweet", "S", "TS"])
    def test_of_preprocessed_data_sets_is_none(self, name):
        texts = read_texts(name)
        for part in (texts, texts[:20]):
            corpus = Corpus.from_texts(part, min_word_length=1)
            assert corpus.tokenizer.language is None
            assert corpus.vocabulary == sorted({word for text in part for word in text.split()})
            assert corpus.n_tokens == sum(len(text.split()) for text in part)


class TestCount:
    def test_gives_the_same_counts_for_the_same_texts(self):
        texts = [*ARTICLES.values(), "", None]
        corpus = Corpus.from_texts(texts, min_document_frequency=1, max_document_frequency=5)
        np.testing.assert_array_equal(corpus.count(texts).toarray(), corpus.counts.toarray())

    def test_leaves_unknown_words_out(self):
        corpus = Corpus.from_texts(["red blue", "green"])
        counts = corpus.count(["green purple red green", "yellow"])
        assert counts.toarray().tolist() == [[0, 2, 1], [0, 0, 0]]
        assert counts.dtype == np.int32
        assert corpus.count([]).shape == (0, 3)

    def test_leaves_rare_words_out_although_the_new_texts_have_them(self):
        corpus = Corpus.from_texts(["red blue", "red"], min_document_frequency=2)
        assert corpus.count(["blue blue red"]).toarray().tolist() == [[1]]

    def test_needs_a_tokenizer(self):
        with pytest.raises(ValueError, match="made from counts"):
            Corpus.from_counts([[1]]).count(["red"])
        corpus = Corpus.from_counts([[1, 0]], ["red", "blue"], tokenizer=Tokenizer())
        assert corpus.count(["blue red blue"]).toarray().tolist() == [[1, 2]]


class TestFromCounts:
    @pytest.mark.parametrize("form", [np.array, np.asfortranarray, sparse.csc_array, sparse.coo_matrix, list])
    def test_takes_any_matrix(self, form):
        corpus = Corpus.from_counts(form([[0, 2], [1, 0], [0, 0]]))
        assert corpus.counts.toarray().tolist() == [[0, 2], [1, 0], [0, 0]]
        assert corpus.counts.dtype == corpus.counts.indices.dtype == np.int32
        assert corpus.vocabulary == ["word_0", "word_1"]
        assert corpus.empty_documents.tolist() == [False, False, True]
        assert corpus.tokenizer is None

    def test_leaves_the_matrix_as_it_is(self):
        matrix = sparse.csr_array((np.array([1, 0, 2]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
        corpus = Corpus.from_counts(matrix)
        assert corpus.counts.nnz == 2
        assert matrix.data.tolist() == [1, 0, 2]
        assert matrix.indices.tolist() == [1, 0, 0]
        corpus.counts.data[:] = 9
        assert matrix.data.tolist() == [1, 0, 2]

    def test_adds_entries_for_one_cell_up(self):
        matrix = sparse.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(1, 2))
        assert Corpus.from_counts(matrix).counts.toarray().tolist() == [[0, 3]]

    def test_keeps_fractions(self):
        corpus = Corpus.from_counts(np.array([[0.5, 2]], dtype=np.float32))
        assert corpus.counts.dtype == np.float64
        assert corpus.n_tokens == 2.5

    def test_makes_whole_numbers_integers(self):
        assert Corpus.from_counts(np.array([[1.0, 2.0]])).counts.dtype == np.int32
        assert Corpus.from_counts(np.array([[True, False]])).counts.dtype == np.int32
        large = Corpus.from_counts(np.array([[2**40]]))
        assert large.counts.dtype == np.int64
        assert large.n_tokens == 2**40

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[0, 1], [0, -1]], "row 1, column 1 is negative"),
            ([[0, np.nan]], "row 0, column 1 is NaN"),
            ([[np.inf, 0]], "row 0, column 0 is infinite"),
            ([1, 2], "two dimensions"),
            ([["a"]], "must be numbers"),
            ([[1j]], "must be numbers"),
        ],
    )
    def test_refuses_what_is_no_count(self, matrix, message):
        with pytest.raises(ValueError, match=message):
            Corpus.from_counts(matrix)

    def test_refuses_a_vocabulary_that_does_not_fit(self):
        with pytest.raises(ValueError, match="1 words, but the matrix has 2 columns"):
            Corpus.from_counts([[1, 2]], ["red"])
        with pytest.raises(ValueError, match="'red' 2 times"):
            Corpus.from_counts([[1, 2]], ["red", "red"])


class TestFromFiles:
    def test_reads_texts_ids_and_labels(self, tmp_path):
        path = tmp_path / "titles.csv"
        path.write_text("number,title,group\n1,red blue,x\n2,,y\n3,blue,x\n")
        corpus = Corpus.from_files(path, text="title", id="number", label="group", stop_words=["red"])
        assert corpus.vocabulary == ["blue"]
        assert corpus.counts.toarray().tolist() == [[1], [0], [1]]
        assert corpus.ids == ["1", "2", "3"]
        assert corpus.labels == ["x", "y", "x"]

    def test_leaves_out_ids_and_labels_that_are_not_asked_for(self, tmp_path):
        path = tmp_path / "titles.jsonl"
        path.write_text('{"text": "red"}\n{"text": "blue"}\n')
        corpus = Corpus.from_files([path], text="text")
        assert (corpus.n_documents, corpus.ids, corpus.labels) == (2, None, None)


class TestSaving:
    def test_and_loading_give_the_same_corpus(self, tmp_path):
        settings = {"language": "english", "stop_words": ("red",), "min_document_frequency": 0.1}
        for corpus in (
            Corpus.from_texts(["red blue", "手机 café", ""], ids=["a", "b", "c"], labels=[1, 2, 3], **settings),
            Corpus.from_texts([]),
            Corpus.from_counts([[0.5, 1], [0, 0]]),
        ):
            corpus.save(tmp_path / "saved" / "corpus")
            assert_same(Corpus.load(tmp_path / "saved" / "corpus"), corpus)

    def test_leaves_no_other_files_behind(self, tmp_path):
        corpus = Corpus.from_texts(["red"])
        corpus.save(tmp_path)
        corpus.save(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "corpus.json",
            "data.npy",
            "indices.npy",
            "row_starts.npy",
            "vocabulary.json",
        ]

    def test_keeps_words_with_lone_surrogates(self, tmp_path):
        corpus = Corpus.from_texts(["ab\ud800c"], tokenizer=str.split, language=None)
        corpus.save(tmp_path)
        assert Corpus.load(tmp_path).vocabulary == ["ab\ud800c"]

    def test_does_not_keep_your_own_tokenizer(self, tmp_path):
        corpus = Corpus.from_texts(["red-blue"], tokenizer=lambda text: text.split("-"))
        corpus.save(tmp_path)
        with pytest.raises(ValueError, match="give it again"):
            Corpus.load(tmp_path).count(["red"])
        loaded = Corpus.load(tmp_path, tokenizer=lambda text: text.split("-"))
        assert loaded.count(["blue-blue"]).toarray().tolist() == [[2, 0]]

    def test_refuses_a_tokenizer_that_was_not_used(self, tmp_path):
        Corpus.from_texts(["red"]).save(tmp_path)
        with pytest.raises(ValueError, match="leave the tokenizer out"):
            Corpus.load(tmp_path, tokenizer=str.split)

    def test_interrupted_while_writing_keeps_the_old_corpus(self, tmp_path, monkeypatch):
        Corpus.from_texts(["red"]).save(tmp_path)

        def fail(*arguments: object, **settings: object) -> None:
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(files.np, "save", fail)
            with pytest.raises(OSError, match="disk full"):
                Corpus.from_texts(["blue green"]).save(tmp_path)
        assert Corpus.load(tmp_path).vocabulary == ["red"]
        assert not list(tmp_path.glob(".*"))

    def test_interrupted_between_two_files_is_noticed(self, tmp_path, monkeypatch):
        Corpus.from_texts(["red"]).save(tmp_path)
        replace, n_replaced = os.replace, 0

        def replace_two(source: Path, target: Path) -> None:
            nonlocal n_replaced
            n_replaced += 1
            if n_replaced > 2:
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace_two)
            with pytest.raises(KeyboardInterrupt):
                Corpus.from_texts(["blue green blue"]).save(tmp_path)
        with pytest.raises(ValueError, match=r"data\.npy does not belong to corpus\.json"):
            Corpus.load(tmp_path)


class TestLoading:
    def test_refuses_what_is_not_there(self, tmp_path):
        with pytest.raises(ValueError, match="is not a folder"):
            Corpus.load(tmp_path / "none")
        with pytest.raises(ValueError, match="holds no saved corpus"):
            Corpus.load(tmp_path)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("corpus.json", b"{", "cannot be read"),
            ("corpus.json", b"[]", "cannot be read"),
            ("corpus.json", b'{"format": "other", "version": 1}', "not a saved corpus"),
            ("corpus.json", b'{"format": "textmix corpus", "version": 2}', "newer textmix .*upgrade"),
            ("corpus.json", b'{"format": "textmix corpus", "version": 1}', "incomplete"),
            (
                "corpus.json",
                b'{"format": "textmix corpus", "version": 1, "settings": {}, "checksums": {}}',
                "not a complete corpus",
            ),
            ("data.npy", b"", "missing or cannot be read"),
            ("data.npy", b"\x93NUMPY", "missing or cannot be read"),
            ("vocabulary.json", b'["blue"]', "does not belong"),
        ],
    )
    def test_refuses_what_is_broken(self, tmp_path, name, content, message):
        Corpus.from_texts(["red"]).save(tmp_path)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Corpus.load(tmp_path)

    def test_refuses_what_lacks_a_file(self, tmp_path):
        Corpus.from_texts(["red"]).save(tmp_path)
        (tmp_path / "indices.npy").unlink()
        with pytest.raises(ValueError, match=r"indices\.npy is missing"):
            Corpus.load(tmp_path)

    def test_never_unpickles(self, tmp_path):
        Corpus.from_texts(["red"]).save(tmp_path)
        np.save(tmp_path / "data.npy", np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(ValueError, match=r"data\.npy .*cannot be read"):
            Corpus.load(tmp_path)


def test_a_corpus_is_shown_by_its_size_and_first_words():
    corpus = Corpus.from_texts(["red apple pie for all of us", "green apple"], language=None)
    assert repr(corpus) == "Corpus(2 documents, 8 words: all, apple, for, green, of, …)"
    assert repr(Corpus.from_texts(["red apple"])) == "Corpus(1 documents, 2 words: apple, red)"


@pytest.mark.parametrize("value", [1e38, 2.0**63, 1e300])
def test_counts_that_no_whole_number_holds_stay_as_they_are(value):
    counts = Corpus.from_counts(np.array([[value, 1.0]])).counts
    assert counts.dtype == np.float64
    assert counts.toarray().tolist() == [[value, 1.0]]


@pytest.mark.parametrize("dtype", [">i4", ">f8", np.float16, np.longdouble, bool, np.uint8])
def test_counts_of_any_type_are_taken(dtype):
    counts = np.array([[1, 0], [1, 1]])
    np.testing.assert_array_equal(Corpus.from_counts(counts.astype(dtype)).counts.toarray(), counts)
