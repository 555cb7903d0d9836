"""What texts mean, beside their words: where the vectors of a clustering come from, also those of new texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus import Corpus
from textmix.estimators.two_view_mixture import as_source
from textmix.inference.seeds import seed_from
from textmix.vectors import (
    CountVectors,
    EncodedTexts,
    Encoder,
    OwnVectors,
    StaticEncoder,
    VectorSource,
    make_encoder,
)

AUTO, OWN, GIVEN = "auto", "own", "given"
PACKAGES = ("sentence-transformers", "model2vec")  # whose models are called PACKAGE:NAME
ENGLISH = "english"
LEAST_COVERAGE = 0.6  # of the words: what no language is recognised of is English if the static vectors have so many
_SENTENCES = {
    "static": "words and static word vectors",
    OWN: "words and vectors made from the texts themselves",
    GIVEN: "words and the vectors given",
}


class CorpusEncoder:
    """Vectors made from the collection itself, of its texts and of new ones."""

    name = OWN

    def __init__(self, own: OwnVectors, corpus: Corpus) -> None:
        self.own, self._corpus = own, corpus

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; a zero row for a text without a known word."""
        return self.own.transform(self._corpus.count(texts))

    def describe(self) -> dict[str, Any]:
        """What run.json says of it."""
        return self.own.describe()


@dataclass(frozen=True)
class SecondView:
    """Vectors beside words; without a name there are none."""

    name: str | None = None
    encoder: Encoder | None = None  # None: words alone, vectors that were given, or an encoder that is not at hand
    description: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What documents are seen by."""
        if self.name is None:
            return "words alone"
        return _SENTENCES.get(self.name, f"words and vectors by {self.name}")

    def describe(self) -> dict[str, Any] | None:
        """What run.json says of the vectors; None without."""
        if self.name is None:
            return None
        return dict(self.description) if self.encoder is None else self.encoder.describe()

    def encode(self, texts: Sequence[str], given: Any = None) -> Any:
        """The vectors of new texts: those given, or the encoder's; None for words alone; ValueError if missing."""
        if self.name is None:
            if given is not None:
                raise ValueError("this clustering is by words alone: leave out vectors")
            return None
        if given is not None:
            return as_source(given, len(texts), some=False).rows(np.arange(len(texts)))
        if self.encoder is None:
            made = "vectors of your own" if self.name == GIVEN else f'the encoder "{self.name}", which is not at hand'
            if self.name == "static":
                made = "another version of the static word vectors"
            hint = "" if self.name == GIVEN else ", or the encoder: textmix.load(folder, encoder=...)"
            raise ValueError(f"this clustering was made with {made}; give the vectors of the new texts too{hint}")
        return self.encoder.encode(texts)


WORDS_ALONE = SecondView()


def check_encoder(encoder: Any) -> None:
    """Raise ValueError if a setting cannot be an encoder; nothing is loaded."""
    if isinstance(encoder, str):
        package, _, model = encoder.partition(":")
        if encoder in (AUTO, OWN) or (package in PACKAGES and model.strip()):
            return
    make_encoder(encoder)


def choose_view(
    encoder: Any, vectors: Any, corpus: Corpus, texts: Sequence[str], random_state: Any
) -> tuple[SecondView, VectorSource | None]:
    """The second view that the settings ask for, and the vectors of these texts."""
    if vectors is not None:
        source = as_source(vectors, len(texts))
        return SecondView(GIVEN, None, {"name": GIVEN, "dimensions": source.n_dimensions}), source
    made: Encoder | None
    if isinstance(encoder, str) and encoder == AUTO:
        made = StaticEncoder() if StaticEncoder.is_available() and is_english(corpus) else None
    elif isinstance(encoder, str) and encoder == OWN:
        own = OwnVectors.fit(corpus.counts, seed_from(random_state))
        return SecondView(OWN, CorpusEncoder(own, corpus)), CountVectors(own, corpus.counts)
    else:
        made = encoder if isinstance(encoder, _NamedEncoder) else make_encoder(encoder)
    if made is None:
        return WORDS_ALONE, None
    return SecondView(made.name, made), EncodedTexts(made, texts)


def is_english(corpus: Corpus) -> bool:
    """Whether static word vectors suit the texts: their language is English, or not recognised but they know it."""
    language = corpus.tokenizer.language if corpus.tokenizer is not None else None
    if language is not None:
        return language == ENGLISH
    totals = np.asarray(corpus.counts.sum(axis=0)).ravel()
    return StaticEncoder().coverage([word.lower() for word in corpus.vocabulary], totals.tolist()) >= LEAST_COVERAGE


def restore_view(description: Any, corpus: Corpus, own: OwnVectors | None, encoder: Any) -> SecondView:
    """The second view of a saved clustering; `encoder` is one that the user has given.

    Encoders that are named are made when they are first needed, so that a run can be read without their packages.
    """
    if description is None:
        if encoder is not None:
            raise ValueError("this run is by words alone: leave out encoder")
        return WORDS_ALONE
    name = str(description.get("name", GIVEN))
    if own is not None:
        return SecondView(OWN, CorpusEncoder(own, corpus), description)
    if encoder is not None:
        given = make_encoder(encoder)
        if name == "static" and given is not None and given.describe()["weights"] != description.get("weights"):
            raise ValueError("this run was made with other static word vectors than these; cluster again")
        return SecondView(name, given, description)
    if name == "static" and StaticEncoder.is_available():
        static = StaticEncoder()
        if static.describe()["weights"] == description.get("weights"):
            return SecondView(name, static, description)
    if name.partition(":")[0] in PACKAGES:
        return SecondView(name, _NamedEncoder(name, description), description)
    return SecondView(name, None, description)


class _NamedEncoder:
    """An encoder that is loaded when it is first needed."""

    def __init__(self, name: str, description: dict[str, Any]) -> None:
        self.name, self._description = name, description
        self._made: Encoder | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See Encoder."""
        if self._made is None:
            self._made = make_encoder(self.name)
        assert self._made is not None
        return self._made.encode(texts)

    def describe(self) -> dict[str, Any]:
        """What the run says of it."""
        return dict(self._description)
