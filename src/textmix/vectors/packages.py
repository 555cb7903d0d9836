"""Models of other packages: the only module that imports them, and only when one is asked for.

Models are loaded from this machine. A download is for the user to start, so no text and no name of a model leaves the
machine unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_CAUSE = 160  # characters of another package's message


def load_sentence_transformer(name: str) -> Any:
    """A SentenceTransformer by its name on Hugging Face, if it was downloaded before, or from its folder."""
    model_class = _import("sentence_transformers", "sentence-transformers").SentenceTransformer
    download = f"from sentence_transformers import SentenceTransformer; SentenceTransformer({name!r})"
    return _load(lambda: model_class(name, local_files_only=True), "sentence-transformers", name, download)


def load_model2vec(name: str) -> Any:
    """A StaticModel by its name on Hugging Face, if it was downloaded before, or from its folder."""
    model_class = _import("model2vec", "model2vec").StaticModel
    download = f"from model2vec import StaticModel; StaticModel.from_pretrained({name!r})"

    def load() -> Any:
        return model_class.from_pretrained(name if Path(name).is_dir() else _downloaded_folder(name))

    return _load(load, "model2vec", name, download)


def _downloaded_folder(name: str) -> str:
    """Where Hugging Face's own cache keeps a model; an error if it does not."""
    hub = _import("huggingface_hub", "huggingface_hub")
    return str(hub.snapshot_download(name, local_files_only=True))


def _import(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise ValueError(f"{package} cannot be imported: {_one_line(error)}") from error
        raise ValueError(f"this encoder needs the package {package}: pip install {package}") from error
    except (ImportError, OSError, RuntimeError) as error:
        raise ValueError(f"{package} cannot be imported: {_one_line(error)}") from error


def _load(load: Callable[[], Any], package: str, name: str, download: str) -> Any:
    try:
        return load()
    except Exception as error:  # whatever another package raises
        advice = f'textmix downloads nothing: give the folder of the model, or download it once: python -c "{download}"'
        raise ValueError(
            f'cannot load the {package} model "{name}" from this machine ({_one_line(error)}); {advice}'
        ) from error


def _one_line(error: Exception) -> str:
    """The message of an error on one line, shortened."""
    message = " ".join(str(error).split()) or type(error).__name__
    return message if len(message) <= MAX_CAUSE else f"{message[:MAX_CAUSE]}…"
