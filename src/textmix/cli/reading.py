"""What commands read of files: documents, stop words, and what is known of clusters beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from textmix.cli.vectors import VectorColumn, open_vectors
from textmix.clustering import TextClusterer, load
from textmix.corpus.readers import DocumentReader, ReadReport
from textmix.estimators import ConsensusMixture
from textmix.inference.progress import Progress


@dataclass
class ReadDocuments:
    """Texts with their ids, labels and vectors, other columns, and what there is to say about the reading."""

    report: ReadReport
    texts: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    labels: list[str] | None = None
    more: dict[str, list[str]] = field(default_factory=dict)
    vectors: NDArray[Any] | None = None


def read_documents(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    *,
    more: Sequence[str] = (),
    vectors: str | None = None,
    progress: bool | None = None,
) -> ReadDocuments:
    """Read all of them, with progress on a terminal; ValueError if that is not possible.

    more: other columns. vectors: a .npy file or a column of lists.
    """
    given: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    source = None if vectors is None else open_vectors(vectors)
    others = [*more, source.column] if isinstance(source, VectorColumn) else more
    with DocumentReader(files, **given, more=others) as reader, Progress(progress).task("reading", total=0) as task:
        documents = ReadDocuments(reader.report, more={name: [] for name in more})
        for batch in reader:
            documents.texts += batch.texts
            if batch.ids is not None:
                documents.ids = documents.ids or []
                documents.ids += batch.ids
            if batch.labels is not None:
                documents.labels = documents.labels or []
                documents.labels += batch.labels
            for name, values in zip(more, batch.more, strict=False):
                documents.more[name] += values
            if isinstance(source, VectorColumn):
                source.add(batch.more[-1])
            task.advance(len(batch.texts))
        documents.report = reader.report
        documents.vectors = None if source is None else source.finish(reader.report)
    return documents


@dataclass(frozen=True)
class GuidanceOptions:
    """What is known of clusters beforehand: columns, seed words, an earlier run."""

    known: str | None = None
    weight: str | None = None
    seed_words: Path | None = None
    frozen: Path | None = None

    def settings(self) -> dict[str, Any]:
        """Settings that come from files."""
        return {
            "seed_words": None if self.seed_words is None else read_seed_words(self.seed_words),
            "frozen": None if self.frozen is None else load(self.frozen),
        }

    def check(self, clusterer: TextClusterer) -> None:
        """Raise ValueError if the model cannot be guided."""
        given = [f"--{name.replace('_', '-')}" for name in self.describe()]
        if given and not isinstance(clusterer.make_model(1), ConsensusMixture):
            one_run = "leave out --model and settings of a single run, such as --alpha and --beta"
            raise ValueError(f"{' and '.join(given)}: only the consensus can be guided; {one_run}")

    @property
    def columns(self) -> list[str]:
        """Those to be read."""
        return list(dict.fromkeys(name for name in (self.known, self.weight) if name is not None))

    def of(self, documents: ReadDocuments) -> dict[str, Any]:
        """What a fit takes of them."""
        given: dict[str, Any] = {}
        if self.known is not None:
            given["y"] = [value.strip() for value in documents.more[self.known]]
            if not any(given["y"]):
                raise ValueError(f'the column "{self.known}" is empty: it names no known cluster')
        if self.weight is not None:
            given["sample_weight"] = _as_weights(documents.more[self.weight], self.weight)
        return given

    def describe(self) -> dict[str, str]:
        """What run.json says of it."""
        return {name: str(value) for name, value in asdict(self).items() if value is not None}


def read_seed_words(path: Path) -> dict[str, list[str]]:
    """Clusters and their words: a line each, the name, a colon, words with commas or blanks between them."""
    clusters: dict[str, list[str]] = {}
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, words = line.partition(":")
        found = words.replace(",", " ").split()
        if not (colon and name.strip() and found):
            raise ValueError(f'"{path}", line {number}: expected a name, a colon and words, such as "billing: invoice"')
        clusters.setdefault(name.strip(), []).extend(found)
    if not clusters:
        raise ValueError(f'"{path}" has no seed words')
    return clusters


def read_stop_words(path: Path) -> tuple[str, ...]:
    """The words of a file, whatever blanks or lines stand between them."""
    return tuple(_read_text(path).split())


def _read_text(path: Path) -> str:
    """A text file as a whole; ValueError if that is not possible."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f'cannot read "{path}": {(error.strerror or str(error)).lower()}') from error
    except UnicodeDecodeError as error:
        raise ValueError(f'"{path}" is not UTF-8 text') from error


def _as_weights(values: Sequence[str], column: str) -> list[float]:
    """The numbers of a column."""
    weights = []
    for row, value in enumerate(values, start=1):
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise ValueError(f'row {row:,}: the weight in column "{column}" must be a number, 0 or more, not {value!r}')
        weights.append(weight)
    return weights
