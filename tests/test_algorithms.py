"""Algorithms by their names in the papers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import textmix
from textmix import (
    BernoulliMixture,
    DirichletMultinomialMixture,
    DirichletProcessMixture,
    EDCMMixture,
    FeaturePartitionMixture,
    MultinomialMixture,
    VonMisesFisherMixture,
    algorithm,
)
from textmix.algorithms import ALGORITHMS

ZHONG_GHOSH = {
    "kberns": (BernoulliMixture, "hard"),
    "skberns": (BernoulliMixture, "stochastic"),
    "mixberns": (BernoulliMixture, "soft"),
    "daberns": (BernoulliMixture, "annealed"),
    "kmnls": (MultinomialMixture, "hard"),
    "skmnls": (MultinomialMixture, "stochastic"),
    "mixmnls": (MultinomialMixture, "soft"),
    "damnls": (MultinomialMixture, "annealed"),
    "kvmfs": (VonMisesFisherMixture, "hard"),
    "skvmfs": (VonMisesFisherMixture, "stochastic"),
    "softvmfs": (VonMisesFisherMixture, "soft"),
    "davmfs": (VonMisesFisherMixture, "annealed"),
}
OTHERS = {
    "movmf": VonMisesFisherMixture,
    "em-mn": MultinomialMixture,
    "edcm": EDCMMixture,
    "gsdmm": DirichletMultinomialMixture,
    "gsdpmm": DirichletProcessMixture,
    "fgsdmm+": DirichletMultinomialMixture,
    "x-dmm": DirichletMultinomialMixture,
    "x-dmm-parallel": DirichletMultinomialMixture,
    "dmafp": FeaturePartitionMixture,
    "dma": FeaturePartitionMixture,
}


def two_topics(n_documents=40, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.integers(2, size=n_documents)
    words = np.vstack([np.r_[np.full(10, 0.09), np.full(10, 0.01)], np.r_[np.full(10, 0.01), np.full(10, 0.09)]])
    return np.array([rng.multinomial(15, words[topic]) for topic in topics])


def one_sentence(error):
    return re.search(r"[.!]\s|\n", str(error.value)) is None


def test_the_names_are_those_of_the_papers():
    assert list(ALGORITHMS) == [*ZHONG_GHOSH, *OTHERS]


@pytest.mark.parametrize("name", ZHONG_GHOSH)
def test_the_twelve_of_zhong_and_ghosh(name):
    kind, assignment = ZHONG_GHOSH[name]
    model = algorithm(name, n_clusters=20)
    assert type(model) is kind
    assert (model.assignment, model.n_clusters) == (assignment, 20)
    assert model.get_params() == kind(20, assignment=assignment).get_params()


@pytest.mark.parametrize("name", OTHERS)
def test_the_others(name):
    assert type(algorithm(name)) is OTHERS[name]


def test_what_the_others_set():
    assert algorithm("fgsdmm+").init == "online"
    assert algorithm("x-dmm").inference == "metropolis"
    assert algorithm("x-dmm-parallel").inference == "parallel"
    assert (algorithm("movmf").assignment, algorithm("movmf").kappa) == ("soft", "learned")
    assert algorithm("em-mn").get_params() == algorithm("mixmnls").get_params()
    assert algorithm("edcm").assignment == "annealed"
    assert algorithm("gsdmm").get_params() == DirichletMultinomialMixture().get_params()
    assert algorithm("gsdpmm").get_params() == DirichletProcessMixture().get_params()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_gives_documents_a_label(name):
    settings = {} if name in ("gsdpmm", "dmafp", "dma") else {"n_clusters": 3}
    model = algorithm(name, **settings, random_state=0).fit(two_topics())
    assert model.labels_.shape == (40,)
    assert 0 <= model.labels_.min() <= model.labels_.max() == model.n_clusters_ - 1


def test_case_does_not_matter():
    assert algorithm("DaMNLs", 5).get_params() == algorithm("damnls", 5).get_params()
    assert type(algorithm("GSDPMM")) is DirichletProcessMixture
    assert type(algorithm("EM-MN")) is MultinomialMixture


def test_it_is_at_hand_in_the_package():
    assert textmix.algorithm is algorithm


def test_without_a_number_of_clusters_it_is_the_estimators():
    assert algorithm("damnls").n_clusters == MultinomialMixture().n_clusters
    assert algorithm("gsdmm").n_clusters == DirichletMultinomialMixture().n_clusters


def test_settings_are_the_estimators_and_override_the_algorithms_own():
    assert algorithm("damnls", 20, smoothing=0.5).smoothing == 0.5
    assert algorithm("damnls", 20, assignment="hard").assignment == "hard"
    assert algorithm("gsdpmm", alpha=2.0).alpha == 2.0


def test_the_table_is_not_changed_by_settings():
    algorithm("kmnls", 3, assignment="soft", max_iter=5)
    assert algorithm("kmnls").get_params() == MultinomialMixture(assignment="hard").get_params()


def test_an_unknown_name_is_refused_with_the_nearest_and_all_others():
    with pytest.raises(
        ValueError, match=r"no algorithm 'damnl' \(did you mean 'damnls'\?\); there are kberns"
    ) as error:
        algorithm("damnl", n_clusters=20)
    assert one_sentence(error)
    assert all(name in str(error.value) for name in ALGORITHMS)


@pytest.mark.parametrize("name", ["xyz", "", None, 7, ["damnls"]])
def test_anything_else_is_refused(name):
    with pytest.raises(ValueError, match=f"^there is no algorithm {re.escape(repr(name))}") as error:
        algorithm(name)
    assert one_sentence(error)


def test_a_name_like_no_other_gets_no_guess():
    with pytest.raises(ValueError, match=r"^there is no algorithm 'xyz'; there are kberns, skberns"):
        algorithm("xyz")


def test_an_unknown_setting_is_refused_with_the_nearest_and_all_others():
    with pytest.raises(
        ValueError, match=r"^damnls has no setting 'smoothin' \(did you mean 'smoothing'\?\); it has"
    ) as error:
        algorithm("damnls", 20, smoothin=1)
    assert one_sentence(error)
    assert "max_iter" in str(error.value)
    with pytest.raises(ValueError, match=r"^kmnls has no setting 'kappa'; it has"):
        algorithm("KMNLS", kappa=3)


def test_gsdpmm_takes_no_number_of_clusters():
    with pytest.raises(ValueError, match=r"^gsdpmm finds the number of clusters itself; leave n_clusters out$"):
        algorithm("GSDPMM", n_clusters=20)


def test_faulty_values_are_refused_by_fit():
    with pytest.raises(ValueError, match="n_clusters"):
        algorithm("damnls", n_clusters=0).fit(two_topics())
