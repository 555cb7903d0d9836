"""Paired t-tests between algorithms over runs, as in Zhong and Ghosh's Tables 5, 12 and 17."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

SIGNIFICANT = 0.05
ROUNDING = 1e-12  # differences below this share of the scores are rounding errors


class Hypothesis(NamedTuple):
    """The best of `better` is better than the best of `worse`, or with `worst=True` than the worst of them."""

    name: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    worst: bool = False


BERNOULLI = ("kberns", "skberns", "mixberns")
MULTINOMIAL = ("kmnls", "skmnls", "mixmnls")
VON_MISES_FISHER = ("kvmfs", "skvmfs", "softvmfs")

# Those of Table 5 but the one about CLUTO.
ZHONG_GHOSH = (
    Hypothesis("bb>wb", BERNOULLI, BERNOULLI, worst=True),
    Hypothesis("bm>wm", MULTINOMIAL, MULTINOMIAL, worst=True),
    Hypothesis("bv>wv", VON_MISES_FISHER, VON_MISES_FISHER, worst=True),
    Hypothesis("dam>bm", ("damnls",), MULTINOMIAL),
    Hypothesis("dav>bv", ("davmfs",), VON_MISES_FISHER),
    Hypothesis("dav>dam", ("davmfs",), ("damnls",)),
)


def paired_t_test(better: ArrayLike, worse: ArrayLike) -> float:
    """The p-value of "better is better than worse" by the scores of the same runs (one-sided).

    Near 0: evidence for it; near 1: evidence for the reverse; ½ where all differences are 0.
    """
    a, b = _scores(better, "better"), _scores(worse, "worse")
    if a.size != b.size:
        raise ValueError(f"better has the scores of {a.size} runs, worse of {b.size}; they must be of the same runs")
    differences = a - b
    rounding = ROUNDING * max(np.abs(a).max(), np.abs(b).max())
    if np.ptp(differences) <= rounding:  # no spread: the t statistic is 0/0 or infinite
        mean = differences.mean()
        return 0.5 if abs(mean) <= rounding else float(mean < 0)
    return float(stats.ttest_rel(a, b, alternative="greater").pvalue)


def t_test_table(
    scores: Mapping[str, Mapping[str, ArrayLike]], hypotheses: Iterable[Hypothesis] = ZHONG_GHOSH
) -> list[dict[str, Any]]:
    """A row a collection, a column a hypothesis: p-values from `scores[collection][algorithm]`, one number a run.

    Which of several algorithms is best or worst goes by the mean score.
    """
    tests = list(hypotheses)
    rows: list[dict[str, Any]] = []
    for collection, by_algorithm in scores.items():
        runs = _runs(collection, by_algorithm, tests)
        row: dict[str, Any] = {"collection": collection}
        for test in tests:
            best = _by_mean(runs, test.better)[-1]
            worse = _by_mean(runs, test.worse)[0 if test.worst else -1]
            row[test.name] = paired_t_test(runs[best], runs[worse])
        rows.append(row)
    return rows


def format_t_tests(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of `t_test_table` as a Markdown table, p-values of at most .05 or at least .95 in bold."""
    if not rows:
        raise ValueError("there are no rows to format")
    names = [name for name in rows[0] if name != "collection"]
    lines = [["Dataset", *names], ["---", *["---:"] * len(names)]]
    lines += [[str(row["collection"]), *(_format_p_value(row[name]) for name in names)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _format_p_value(p: float) -> str:
    text = "<0.001" if p < 0.001 else ">0.999" if p > 0.999 else f"{p:.3f}"
    return f"**{text}**" if p <= SIGNIFICANT or p >= 1 - SIGNIFICANT else text


def _runs(
    collection: str, by_algorithm: Mapping[str, ArrayLike], tests: Iterable[Hypothesis]
) -> dict[str, NDArray[np.float64]]:
    """The scores of the algorithms that the tests name, all of the same number of runs."""
    names = list(dict.fromkeys(name for test in tests for name in (*test.better, *test.worse)))
    missing = [name for name in names if name not in by_algorithm]
    if missing:
        there = ", ".join(by_algorithm) or "none"
        raise ValueError(f"{collection} has no scores of {', '.join(missing)}; it has those of {there}")
    runs = {name: _scores(by_algorithm[name], f"{collection}, {name}") for name in names}
    if len({values.size for values in runs.values()}) > 1:
        numbers = ", ".join(f"{name} {values.size}" for name, values in runs.items())
        raise ValueError(f"{collection} has different numbers of runs, which cannot be paired: {numbers}")
    return runs


def _scores(values: ArrayLike, where: str) -> NDArray[np.float64]:
    """One finite number a run, two runs at least."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size < 2:
        raise ValueError(f"{where}: a list of the scores of two or more runs is needed, not an array of {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError(f"{where}: the score of run {int(np.argmin(np.isfinite(scores)))} is not a finite number")
    return scores


def _by_mean(runs: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> list[str]:
    """The names by rising mean score."""
    return sorted(names, key=lambda name: float(runs[name].mean()))
