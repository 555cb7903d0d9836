"""The scikit-learn classes."""

from textmix.estimators.bernoulli_mixture import BernoulliMixture
from textmix.estimators.consensus_mixture import ConsensusMixture
from textmix.estimators.dirichlet_multinomial_mixture import DirichletMultinomialMixture
from textmix.estimators.dirichlet_process_mixture import DirichletProcessMixture
from textmix.estimators.edcm_mixture import EDCMMixture
from textmix.estimators.feature_partition_mixture import FeaturePartitionMixture
from textmix.estimators.multinomial_mixture import MultinomialMixture
from textmix.estimators.von_mises_fisher_mixture import VonMisesFisherMixture

__all__ = [
    "BernoulliMixture",
    "ConsensusMixture",
    "DirichletMultinomialMixture",
    "DirichletProcessMixture",
    "EDCMMixture",
    "FeaturePartitionMixture",
    "MultinomialMixture",
    "VonMisesFisherMixture",
]
