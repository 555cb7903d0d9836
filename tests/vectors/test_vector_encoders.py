"""Encoders by name, and objects and functions of the user's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from textmix.vectors import Encoder, StaticEncoder, UserEncoder, make_encoder
from textmix.vectors.encoders import BLOCK_TEXTS
from textmix.vectors.weights import hash_arrays, hash_model


class Model:
    """Counts a and b, and remembers what it was given."""

    def __init__(self):
        self.given = []

    def encode(self, texts):
        self.given.append(texts)
        return np.array([[text.count("a"), text.count("b"), 1] for text in texts])


class TalkativeModel(Model):
    def encode(self, texts, batch_size=32, show_progress_bar=True):
        assert show_progress_bar is False
        return super().encode(texts)


class ForwardingModel(Model):
    def encode(self, texts, **options):
        assert options == {}
        return super().encode(texts)


def count_letters(texts):
    return [[text.count("a"), text.count("b"), 1] for text in texts]


def test_none_is_words_alone():
    assert make_encoder(None) is None


@pytest.mark.parametrize("spec", [Model(), TalkativeModel(), ForwardingModel(), count_letters, Model().encode])
def test_objects_and_functions_are_called_with_texts(spec):
    encoder = make_encoder(spec)
    rows = encoder.encode(["aab", "b"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [np.array([2, 1, 1]) / 6**0.5, np.array([0, 1, 1]) / 2**0.5], rtol=1e-6)


def test_an_encoder_of_ours_stays_as_it_is():
    encoder = UserEncoder(count_letters)
    assert make_encoder(encoder) is encoder


@pytest.mark.parametrize(
    ("spec", "name"),
    [(Model(), "Model"), (count_letters, "count_letters"), (lambda texts: texts, "function"), (print, "print")],
)
def test_what_an_encoder_is_called(spec, name):
    assert make_encoder(spec).name == name


def test_a_model_gets_each_text_once_in_blocks():
    model = Model()
    texts = [f"a{number % 1500}" for number in range(4000)]
    rows = make_encoder(model).encode(texts)
    assert [len(given) for given in model.given] == [BLOCK_TEXTS, 1500 - BLOCK_TEXTS]
    assert isinstance(model.given[0], list)
    np.testing.assert_array_equal(rows[:1500], rows[1500:3000])


def test_a_blank_text_has_no_vector_and_is_not_encoded():
    model = Model()
    rows = make_encoder(model).encode(["", "a", " \n"])
    assert model.given == [["a"]]
    assert rows.any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_texts_without_any_vector_have_the_right_shape(texts):
    assert make_encoder(Model()).encode(texts).shape == (len(texts), 3)


def test_zero_rows_stay_zero():
    encoder = make_encoder(lambda texts: np.zeros((len(texts), 4)))
    np.testing.assert_array_equal(encoder.encode(["a", "b"]), np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: np.ones((1, 4)), "has 1 rows, but there are 2 texts"),
        (lambda texts: np.ones(4), "must have two dimensions (one row per text), not 1"),
        (lambda texts: np.ones((2, 1)), "has 1 dimension; a vector needs at least 2"),
        (lambda texts: [["x", "y"]] * 2, "must be numbers, not <U1"),
        (lambda texts: None, "must have two dimensions"),
        (lambda texts: [[1, 2], [3, np.nan]], "contains NaN for the text 'second'"),
    ],
)
def test_a_wrong_result_is_one_sentence(function, message):
    with pytest.raises(ValueError, match=r"^the output of encoder function ") as raised:
        make_encoder(function).encode(["first", "second"])
    assert message in str(raised.value)


def test_every_block_must_have_the_same_dimensions():
    encoder = make_encoder(lambda texts: np.ones((len(texts), 3 if "x0" in texts else 2)))
    with pytest.raises(ValueError, match="has 2 dimensions for some texts and 3 for others"):
        encoder.encode([f"x{number}" for number in range(BLOCK_TEXTS + 1)])


@pytest.mark.parametrize("spec", ["statik", "", "sentence-transformers:", "model2vec: ", "openai:x", 7, ["static"]])
def test_anything_else_lists_what_is_possible(spec):
    with pytest.raises(ValueError, match=r"^encoder must be ") as raised:
        make_encoder(spec)
    for possible in ('"auto"', '"static"', '"own"', '"sentence-transformers:NAME"', '"model2vec:NAME"', "None"):
        assert possible in str(raised.value)


def test_a_class_is_not_an_object_of_it():
    with pytest.raises(ValueError, match="encoder is the class Model; give an object of it"):
        make_encoder(Model)


@pytest.mark.parametrize("spec", ["auto", "own"])
def test_what_depends_on_the_collection_is_not_made_here(spec):
    with pytest.raises(ValueError, match=f'encoder "{spec}" depends on the collection'):
        make_encoder(spec)


def test_descriptions_are_json():
    encoder: Encoder = make_encoder(count_letters)
    encoder.encode(["a"])
    described = json.loads(json.dumps(encoder.describe()))
    assert described == {"name": "count_letters", "version": None, "weights": None, "dimensions": 3}


class Tensor:
    def __init__(self, array, *, is_bfloat16=False):
        self.array, self.is_bfloat16 = array, is_bfloat16

    def detach(self):
        return self

    cpu = detach

    def numel(self):
        return self.array.size

    def element_size(self):
        return self.array.itemsize

    def numpy(self):
        if self.is_bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def float(self):
        return Tensor(self.array)


class TorchModel(Model):
    def __init__(self, **tensors):
        super().__init__()
        self.tensors = tensors

    def state_dict(self):
        return self.tensors


class TableModel(Model):
    def __init__(self, table):
        super().__init__()
        self.embedding = table


def test_weights_are_told_apart_by_their_hash():
    first, second = np.arange(6, dtype=np.float32), np.ones((2, 2), dtype=np.float32)
    model = TorchModel(b=Tensor(second, is_bfloat16=True), a=Tensor(first))
    weights = make_encoder(model).describe()["weights"]
    assert weights == hash_arrays([first, second])
    assert len(weights) == 16
    assert make_encoder(TorchModel(a=Tensor(first + 1), b=Tensor(second))).describe()["weights"] != weights
    assert make_encoder(TableModel(second)).describe()["weights"] == hash_arrays([second])


@pytest.mark.parametrize("model", [Model(), TableModel("not a table"), TorchModel(a="not a tensor"), count_letters])
def test_weights_that_cannot_be_found_are_none(model):
    assert hash_model(model) is None


def test_models_too_large_to_hash_have_none(monkeypatch):
    monkeypatch.setattr("textmix.vectors.weights.MAX_BYTES", 20)
    assert hash_model(TorchModel(a=Tensor(np.ones(6, dtype=np.float32)))) is None


def test_the_version_is_that_of_the_package():
    class Installed(Model):
        pass

    Installed.__module__ = "numpy.somewhere"
    assert make_encoder(Installed()).describe()["version"] == np.__version__
    assert make_encoder(Model()).describe()["version"] is None


def test_static_by_name():
    assert isinstance(make_encoder("static"), StaticEncoder)
