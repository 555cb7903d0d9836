"""The scikit-learn classes."""

from textmix.estimators.dirichlet_multinomial_mixture import DirichletMultinomialMixture
from textmix.estimators.dirichlet_process_mixture import DirichletProcessMixture

__all__ = ["DirichletMultinomialMixture", "DirichletProcessMixture"]
