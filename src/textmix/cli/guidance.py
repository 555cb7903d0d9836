"""What `textmix cluster` is told of clusters beforehand: seed words, an earlier run, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from textmix.cli.reading import Documents
from textmix.clustering import TextClusterer, load
from textmix.estimators import ConsensusMixture


@dataclass(frozen=True)
class Guidance:
    """Columns and files that guide clustering, where there are any."""

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

    def of(self, documents: Documents) -> dict[str, Any]:
        """What a fit takes of them."""
        given: dict[str, Any] = {}
        if self.known is not None:
            given["y"] = [value.strip() for value in documents.more[self.known]]
            if not any(given["y"]):
                raise ValueError(f'the column "{self.known}" is empty: it names no known cluster')
        if self.weight is not None:
            given["sample_weight"] = as_weights(documents.more[self.weight], self.weight)
        return given

    def describe(self) -> dict[str, str]:
        """What run.json says of it."""
        return {name: str(value) for name, value in asdict(self).items() if value is not None}


def read_seed_words(path: Path) -> dict[str, list[str]]:
    """Clusters and their words: a line each, the name, a colon, words with commas or blanks between them."""
    clusters: dict[str, list[str]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
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


def read_text(path: Path) -> str:
    """A text file as a whole; ValueError if that is not possible."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f'cannot read "{path}": {(error.strerror or str(error)).lower()}') from error
    except UnicodeDecodeError as error:
        raise ValueError(f'"{path}" is not UTF-8 text') from error


def as_weights(values: Sequence[str], column: str) -> list[float]:
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
