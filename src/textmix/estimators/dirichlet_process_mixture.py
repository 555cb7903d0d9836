"""GSDPMM as a scikit-learn estimator."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.kernels.state import Prior
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet

_TIMES_DOCUMENTS = re.compile(r"\s*([0-9.eE+-]+)\s*\*?\s*n\s*")
ALPHA_TO_START_FROM = "0.1n"
DEFAULT_MAX_CLUSTERS = 2000  # of the finite mixture in place of the process


@dataclass(eq=False, repr=False)
class DirichletProcessMixture(GibbsMixture):
    """Dirichlet process mixture of Dirichlet-multinomials, sampled exactly: finds the number of clusters (GSDPMM).

    p(z_d = z | rest) ∝ m_z ∏_w ∏_{j<N_d^w} (n_z^w + β + j) / ∏_{i<N_d} (n_z + Vβ + i)   (GSDPMM, eq. IV.29)
    p(z_d new | rest) ∝ α ∏_w ∏_{j<N_d^w} (β + j) / ∏_{i<N_d} (Vβ + i)                     (eq. IV.44)

    Parameters
    ----------
    alpha : float or str, default="0.1n"
        Concentration: a number, or one followed by n, which stands for the number of documents that have words.
        Larger: more clusters, above all more documents alone in theirs. "learn": drawn in each sweep (Escobar and
        West), from 0.1n on.
    beta : float, "learn" or array of shape (n_words,), default=0.02
        Pseudo-count of each word in each cluster. Larger: fewer clusters. "learn": drawn in each sweep (a slice step),
        from 0.02 on. An array: one for each word.
    n_start_clusters : int, default=1
        Number of random clusters to start from (K_0 of Algorithm 1), at most max_clusters.
    max_clusters : int or None, default=None
        At most this many clusters: a finite mixture of K = max_clusters stands for the process, α/K being the
        pseudo-count of each cluster (DMAFP, 3.2). It does not go with alpha="learn". None: no limit with Gibbs
        sampling; for metropolis and parallel, which need one, 2,000 or the number of documents if that is smaller.
    inference, n_sweeps, tol, sampler, polish, outlier_size, switch, word_probabilities, leave_out, engine, \
client, n_jobs, random_state, progress
        As for DirichletMultinomialMixture, and so are the fitted attributes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GibbsMixture._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither"), str],
        "n_start_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
    }

    _beta_to_start_from = 0.02

    alpha: float | str = "0.1n"
    beta: Any = 0.02
    _: KW_ONLY
    n_start_clusters: int = 1
    max_clusters: int | None = None

    def _make_prior(self, n_documents: int) -> Prior:
        if self.max_clusters is not None:
            if self.alpha == "learn":
                raise ValueError(
                    'alpha="learn" does not go with max_clusters; give alpha a number, or leave max_clusters out'
                )
            return self._make_finite_prior(n_documents)
        return dirichlet_process(self._concentration(n_documents), n_documents)

    def _make_finite_prior(self, n_documents: int) -> Prior:
        n_clusters = self.max_clusters or max(min(DEFAULT_MAX_CLUSTERS, n_documents), 1)
        return finite_dirichlet(n_clusters, self._concentration(n_documents) / n_clusters)

    def _alpha_of(self, prior: Prior) -> float:
        return prior.mass

    def _start(self, has_words: NDArray[np.bool_]) -> int:
        return int(self.n_start_clusters)

    def _concentration(self, n_documents: int) -> float:
        alpha = ALPHA_TO_START_FROM if self.alpha == "learn" else self.alpha
        return concentration(alpha, n_documents)


def concentration(alpha: float | str, n_documents: int) -> float:
    """α as a number; a string such as "0.1n" stands for so many times the number of documents."""
    if not isinstance(alpha, str):
        return float(alpha)
    match = _TIMES_DOCUMENTS.fullmatch(alpha)
    try:
        factor = float(match.group(1)) if match else float("nan")
    except ValueError:
        factor = float("nan")
    if not 0.0 < factor < float("inf"):
        raise ValueError(
            'alpha must be a number above 0, a string such as "0.1n" (times the number of documents), or "learn", '
            f"not {alpha!r}"
        )
    return factor * max(n_documents, 1)
