"""Paired t-tests over runs, and the table of them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from textmix_studies.t_tests import ZHONG_GHOSH, Hypothesis, format_t_tests, paired_t_test, t_test_table

ALGORITHMS = [
    *["kberns", "skberns", "mixberns"],
    *["kmnls", "skmnls", "mixmnls", "damnls"],
    *["kvmfs", "skvmfs", "softvmfs", "davmfs"],
]


def random_scores(n_runs=10, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(0.2 + 0.02 * place, 0.8, n_runs) for place, name in enumerate(ALGORITHMS)}


# One test


def test_the_p_value_of_an_example_by_hand():
    # Differences 1, 2, 3: mean 2, standard deviation 1, t = 2√3. With two degrees of freedom
    # P(T > t) = ½ − t / (2 √(2 + t²)).
    t = 2 * math.sqrt(3)
    assert paired_t_test([2, 4, 6], [1, 2, 3]) == pytest.approx(0.5 - t / (2 * math.sqrt(2 + t * t)))


def test_with_two_runs_it_is_a_cauchy_distribution():
    # Differences 1, 3: t = 2 / (√2 / √2) = 2, one degree of freedom.
    assert paired_t_test([1, 3], [0, 0]) == pytest.approx(0.5 - math.atan(2) / math.pi)


@pytest.mark.parametrize("seed", range(5))
def test_the_p_value_is_scipys_of_the_differences(seed):
    rng = np.random.default_rng(seed)
    better, worse = rng.normal(0.6, 0.1, 10), rng.normal(0.55, 0.1, 10)
    expected = stats.ttest_1samp(better - worse, 0, alternative="greater").pvalue
    assert paired_t_test(better, worse) == pytest.approx(expected)
    assert paired_t_test(worse, better) == pytest.approx(1 - expected)


def test_runs_are_paired():
    better, worse = [0.31, 0.51, 0.71, 0.92], [0.30, 0.50, 0.70, 0.90]
    assert paired_t_test(better, worse) < 0.05
    assert paired_t_test(better, worse[::-1]) > 0.4


def test_equal_scores_are_evidence_for_nothing():
    assert paired_t_test([0.5, 0.6, 0.7], [0.5, 0.6, 0.7]) == 0.5
    assert paired_t_test([0, 0], [0, 0]) == 0.5


def test_differences_that_are_rounding_errors_are_none():
    scores = np.array([0.1, 0.3, 0.7])
    assert paired_t_test(scores + 1e-16, scores - 1e-16) == 0.5
    assert paired_t_test(np.nextafter(scores, 1), scores) == 0.5


def test_a_constant_difference_is_certain_and_no_reason_to_warn():
    worse = np.array([0.1, 0.35, 0.7, 0.77])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_t_test(worse + 0.1, worse) == 0.0
        assert paired_t_test(worse, worse + 0.1) == 1.0
        assert paired_t_test([2, 2], [1, 1]) == 0.0


@pytest.mark.parametrize(
    ("better", "worse", "message"),
    [
        ([1, 2, 3], [1, 2], "better has the scores of 3 runs, worse of 2; they must be of the same runs"),
        ([1], [2], r"better: .* two or more runs .* \(1,\)"),
        ([], [], r"better: .* two or more runs .* \(0,\)"),
        ([1, 2], [[1, 2]], r"worse: .* \(1, 2\)"),
        ([1, 2], [1, float("nan")], "worse: the score of run 1 is not a finite number"),
        ([float("inf"), 2], [1, 2], "better: the score of run 0 is not a finite number"),
    ],
)
def test_faulty_scores_are_refused(better, worse, message):
    with pytest.raises(ValueError, match=message):
        paired_t_test(better, worse)


# The table


def test_the_hypotheses_are_those_of_table_5_without_cluto():
    assert [test.name for test in ZHONG_GHOSH] == ["bb>wb", "bm>wm", "bv>wv", "dam>bm", "dav>bv", "dav>dam"]
    assert {name for test in ZHONG_GHOSH for name in test.better + test.worse} == set(ALGORITHMS)


@pytest.mark.parametrize("seed", range(3))
def test_each_column_compares_the_best_with_the_worst_or_the_best(seed):
    runs = random_scores(seed=seed)

    def ranked(*names):
        return sorted(names, key=lambda name: sum(runs[name]))

    bernoulli, multinomial = ranked("kberns", "skberns", "mixberns"), ranked("kmnls", "skmnls", "mixmnls")
    directions = ranked("kvmfs", "skvmfs", "softvmfs")
    pairs = {
        "bb>wb": (bernoulli[-1], bernoulli[0]),
        "bm>wm": (multinomial[-1], multinomial[0]),
        "bv>wv": (directions[-1], directions[0]),
        "dam>bm": ("damnls", multinomial[-1]),
        "dav>bv": ("davmfs", directions[-1]),
        "dav>dam": ("davmfs", "damnls"),
    }
    expected = {name: stats.ttest_rel(runs[a], runs[b], alternative="greater").pvalue for name, (a, b) in pairs.items()}
    (row,) = t_test_table({"tr11": runs})
    assert row.pop("collection") == "tr11"
    assert row == pytest.approx(expected)
    assert list(row) == list(expected)


def test_a_row_a_collection_in_their_order():
    rows = t_test_table({"tr45": random_scores(seed=1), "classic": random_scores(seed=2)})
    assert [row["collection"] for row in rows] == ["tr45", "classic"]
    assert rows[0]["dav>dam"] != rows[1]["dav>dam"]


def test_algorithms_that_tie_give_one_half():
    scores = {name: [0.4, 0.5, 0.6] for name in ALGORITHMS}
    (row,) = t_test_table({"classic": scores})
    assert [row[test.name] for test in ZHONG_GHOSH] == [0.5] * 6


def test_hypotheses_of_your_own():
    scores = {"ours": [0.5, 0.7, 0.6], "theirs": [0.4, 0.5, 0.55], "unused": [1]}
    (row,) = t_test_table({"mine": scores}, [Hypothesis("ours>theirs", ("ours",), ("theirs",))])
    assert row == {"collection": "mine", "ours>theirs": paired_t_test(scores["ours"], scores["theirs"])}


def test_missing_algorithms_are_named():
    runs = {name: values for name, values in random_scores().items() if name not in ("damnls", "kvmfs")}
    with pytest.raises(ValueError, match=r"^tr23 has no scores of kvmfs, damnls; it has those of kberns, skberns"):
        t_test_table({"tr11": random_scores(), "tr23": runs})
    with pytest.raises(ValueError, match=r"tr23 has no scores of .*; it has those of none"):
        t_test_table({"tr23": {}})


def test_different_numbers_of_runs_are_refused_even_if_the_test_would_not_use_them():
    runs = random_scores()
    middle = sorted(["kmnls", "skmnls", "mixmnls"], key=lambda name: runs[name].mean())[1]
    runs[middle] = runs[middle][:9]
    with pytest.raises(ValueError, match=f"tr11 has different numbers of runs.*{middle} 9"):
        t_test_table({"tr11": runs})


def test_faulty_scores_are_named():
    runs = {**random_scores(), "skvmfs": [0.5, float("nan")]}
    with pytest.raises(ValueError, match="tr11, skvmfs: the score of run 1 is not a finite number"):
        t_test_table({"tr11": runs})


# As Markdown


def test_the_table_is_written_like_the_papers():
    rows = [
        {"collection": "classic", "bb>wb": 0.277, "bm>wm": 0.00099, "dam>bm": 0.027, "dav>dam": 0.99901},
        {"collection": "reviews", "bb>wb": 0.95, "bm>wm": 0.9499, "dam>bm": 0.05, "dav>dam": 0.0501},
        {"collection": "tr11", "bb>wb": 0.0, "bm>wm": 1.0, "dam>bm": 0.5, "dav>dam": 0.999},
    ]
    assert format_t_tests(rows).splitlines() == [
        "| Dataset | bb>wb | bm>wm | dam>bm | dav>dam |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| classic | 0.277 | **<0.001** | **0.027** | **>0.999** |",
        "| reviews | **0.950** | 0.950 | **0.050** | 0.050 |",
        "| tr11 | **<0.001** | **>0.999** | 0.500 | **0.999** |",
    ]


def test_the_table_of_tests_can_be_written():
    lines = format_t_tests(t_test_table({"tr11": random_scores(), "tr23": random_scores(seed=1)})).splitlines()
    assert lines[0] == "| Dataset | bb>wb | bm>wm | bv>wv | dam>bm | dav>bv | dav>dam |"
    assert [line.split(" ")[1] for line in lines] == ["Dataset", "---", "tr11", "tr23"]


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        format_t_tests([])
