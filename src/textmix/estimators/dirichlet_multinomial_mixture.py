"""GSDMM as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from textmix.estimators.counts import check_labels
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet

ALPHA_TO_START_FROM = 0.1


class DirichletMultinomialMixture(GibbsMixture):
    """Mixture of Dirichlet-multinomials with at most n_clusters clusters, sampled exactly (GSDMM).

    p(z_d = z | rest) ∝ (m_z + α) ∏_w ∏_{j<N_d^w} (n_z^w + β + j) / ∏_{i<N_d} (n_z + Vβ + i)   (GSDPMM, eq. IV.28)

    Parameters
    ----------
    n_clusters : int, default=100
        Upper bound on the number of clusters; many of them end up empty.
    alpha : float or "learn", default=0.1
        Pseudo-count of each cluster. (The α of GSDPMM's eq. IV.28 is n_clusters × alpha.) "learn": drawn in each sweep
        (a slice step on its logarithm), from 0.1 on.
    beta : float or "learn", default=0.1
        Pseudo-count of each word in each cluster. Larger: fewer clusters. "learn": as alpha.
    alpha_prior, beta_prior : (shape, rate), default=(1, 0.01) and (1, 1)
        Gamma priors of what is learned.
    inference : {"gibbs"}, default="gibbs"
        Exact collapsed Gibbs sampling.
    init : "random" or array of shape (n_documents,), default="random"
        Random clusters, or labels 0 … n_clusters − 1 to start from (anything for documents without words).
    n_sweeps : int, default=100
        Upper bound on the number of sweeps.
    tol : float, default=1e-3
        Sampling stops when, over five sweeps, the log joint rises and the number of moves falls by less than this, a
        document. 0 runs all sweeps.
    sampler : {"auto", "sparse", "dense"}, default="auto"
        How the counts of clusters are stored: as lists of (cluster, count) pairs for each word, as a row for each word
        with a column for each cluster, or for each word whichever is faster. The distribution sampled is the same.
    polish : bool, default=True
        End at a fixed point: documents move to their most probable cluster until none would. False: the last sample.
    outlier_size : int, default=1
        Documents in clusters of at most so many documents are outliers.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same labels; None: others at each fit. NumPy's global state is never touched.
    progress : bool or None, default=None
        Whether to show a progress bar when a fit takes long; None: on a terminal.

    Attributes
    ----------
    labels_ : array of shape (n_documents,)
        0 … n_clusters_ − 1 by falling size; −1 for documents without words.
    n_clusters_, cluster_sizes_, cluster_word_counts_
        Number of clusters, documents of each, word counts of each (sparse).
    probabilities_, outliers_, outlier_scores_
        See their own descriptions; computed on request.
    alpha_, beta_
        As given, or the last that were drawn.
    trace_ : dict of arrays, one entry a sweep
        n_clusters, n_moved, log_joint, seconds; alpha and beta where they are learned.
    n_iter_, converged_, log_joint_
        Sweeps done; whether the end is a fixed point (polish=True) or sampling stopped by itself; log p(labels, words).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GibbsMixture._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"})],
        "inference": [StrOptions({"gibbs"})],
        "init": [StrOptions({"random"}), "array-like"],
    }

    _beta_to_start_from = 0.1

    def __init__(
        self,
        n_clusters: int = 100,
        alpha: float | str = 0.1,
        beta: float | str = 0.1,
        *,
        alpha_prior: Any = (1.0, 0.01),
        beta_prior: Any = (1.0, 1.0),
        inference: str = "gibbs",
        init: Any = "random",
        n_sweeps: int = 100,
        tol: float = 1e-3,
        sampler: str = "auto",
        polish: bool = True,
        outlier_size: int = 1,
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self.inference = inference
        self.init = init
        self.n_sweeps = n_sweeps
        self.tol = tol
        self.sampler = sampler
        self.polish = polish
        self.outlier_size = outlier_size
        self.random_state = random_state
        self.progress = progress

    def _make_prior(self, n_documents: int) -> Prior:
        return finite_dirichlet(self.n_clusters, ALPHA_TO_START_FROM if self.alpha == "learn" else float(self.alpha))

    def _start(self, has_words: NDArray[np.bool_]) -> NDArray[np.int32] | int:
        if isinstance(self.init, str):
            return int(self.n_clusters)
        return check_labels(self.init, has_words, int(self.n_clusters))
