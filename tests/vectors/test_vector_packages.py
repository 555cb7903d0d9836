"""Models of other packages, which are not installed here: stand-ins take their place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from textmix.vectors import make_encoder


class SentenceTransformer:
    def __init__(self, name, local_files_only=False):
        assert local_files_only, "would ask the network"
        if name != "known":
            raise OSError("We couldn't connect to 'https://huggingface.co'\nto load   the files" + " or so" * 50)

    def encode(self, sentences, batch_size=32, show_progress_bar=None):
        assert show_progress_bar is False
        return np.ones((len(sentences), 4), dtype=np.float32)


class StaticModel:
    def __init__(self, path):
        self.path = path
        self.embedding = np.ones((2, 4), dtype=np.float32)

    @classmethod
    def from_pretrained(cls, path):
        return cls(path)

    def encode(self, sentences, show_progress_bar=False, **options):
        return np.ones((len(sentences), 4), dtype=np.float32)


def snapshot_download(name, local_files_only=False):
    assert local_files_only, "would ask the network"
    if name != "minishlab/known":
        raise FileNotFoundError("Cannot find an appropriate cached snapshot folder")
    return "/cache/known"


@pytest.fixture
def installed(monkeypatch):
    """Both packages."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=SentenceTransformer))
    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=StaticModel))
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))


@pytest.fixture
def missing(monkeypatch):
    """Neither, even if one is installed."""
    for module in ("sentence_transformers", "model2vec"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr("textmix.vectors.packages.import_module", lambda name: _not_found(name))


def _not_found(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("name", ["sentence-transformers:known", "model2vec:minishlab/known"])
def test_a_model_of_this_machine_is_loaded(installed, name):
    encoder = make_encoder(name)
    np.testing.assert_allclose(encoder.encode(["a", "b"]), np.full((2, 4), 0.5))
    assert encoder.name == name
    described = encoder.describe()
    assert (described["name"], described["dimensions"]) == (name, 4)


def test_model2vec_reads_the_downloaded_folder_or_the_one_given(installed, tmp_path):
    assert make_encoder("model2vec:minishlab/known")._model.path == "/cache/known"
    assert make_encoder(f"model2vec:{tmp_path}")._model.path == str(tmp_path)
    assert make_encoder("model2vec:minishlab/known").describe()["weights"] is not None


@pytest.mark.parametrize(
    ("name", "cause", "download"),
    [
        ("sentence-transformers:other", "(We couldn't connect to", "SentenceTransformer('other')"),
        ("model2vec:minishlab/other", "(Cannot find an", "StaticModel.from_pretrained('minishlab/other')"),
    ],
)
def test_a_model_that_is_not_on_this_machine_is_one_line_with_the_cause(installed, name, cause, download):
    package, _, model = name.partition(":")
    with pytest.raises(ValueError, match=f'^cannot load the {package} model "{model}" from this machine ') as raised:
        make_encoder(name)
    message = str(raised.value)
    assert cause in message
    assert "\n" not in message
    assert "to load the files" in message or package == "model2vec"
    assert f'download it once: python -c "from {package.replace("-", "_")} import ' in message
    assert message.endswith(f'{download}"')
    assert len(message) < 500


@pytest.mark.parametrize("package", ["sentence-transformers", "model2vec"])
def test_a_missing_package_is_named_with_what_installs_it(missing, package):
    with pytest.raises(ValueError, match=f"^this encoder needs the package {package}: pip install {package}$"):
        make_encoder(f"{package}:any")


@pytest.mark.parametrize(
    "error",
    [ImportError("cannot import name 'x'\nfrom y"), ModuleNotFoundError("No module named 'torch'", name="torch")],
)
def test_a_package_that_is_broken_says_why(monkeypatch, error):
    def broken(name):
        raise error

    monkeypatch.setattr("textmix.vectors.packages.import_module", broken)
    with pytest.raises(
        ValueError, match=r"^sentence-transformers cannot be imported: (cannot import|No module)"
    ) as raised:
        make_encoder("sentence-transformers:any")
    assert "\n" not in str(raised.value)
