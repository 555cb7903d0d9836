"""Titles counted in a second, from list[str] to a matrix of counts, beside scikit-learn's CountVectorizer.

Run as `python benchmarks/tokens.py`. Best of five, each on one core; lower-casing, stop words and
vocabulary included.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from sklearn.feature_extraction.text import CountVectorizer

from textmix.corpus import Corpus
from textmix.corpus.stop_words import language_stop_words

DATA = Path(os.environ.get("TEXTMIX_DATA", Path(__file__).parents[2] / "shared" / "data"))
N_TITLES = 300_000
N_RUNS = 5


def read_titles() -> list[str]:
    """The titles of StackOverflow, repeated until there are enough."""
    path = DATA / "StackOverflow.jsonl.gz"
    if not path.exists():
        raise SystemExit(f"{path} is not there; set TEXTMIX_DATA to the folder of the data sets")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        titles = [json.loads(line)["text"] for line in file]
    return (titles * (N_TITLES // len(titles) + 1))[:N_TITLES]


def best_seconds(function: Callable[[], object]) -> float:
    """The shortest of some runs."""
    seconds = []
    for _ in range(N_RUNS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    titles = read_titles()
    stop_words = sorted(language_stop_words("english"))
    corpus = Corpus.from_texts(titles)
    n_words = sum(len(title.split()) for title in titles) / len(titles)
    print(f"{len(titles):,} titles of {n_words:.1f} words; {corpus.n_words:,} words in the vocabulary")
    seconds = {
        "Corpus.from_texts": best_seconds(lambda: Corpus.from_texts(titles)),
        "corpus.count": best_seconds(lambda: corpus.count(titles)),
        "CountVectorizer": best_seconds(lambda: CountVectorizer(stop_words=stop_words).fit_transform(titles)),
    }
    for name, best in seconds.items():
        ratio = seconds["CountVectorizer"] / best
        print(f"{name:18} {len(titles) / best:>10,.0f} titles a second ({best:.3f} s, ratio {ratio:.1f})")


if __name__ == "__main__":
    main()
