"""GSDMM as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from textmix.estimators.counts import check_labels
from textmix.estimators.gibbs_mixture import GibbsMixture, check_pseudo_counts
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet

ALPHA_TO_START_FROM = 0.1


@dataclass(eq=False, repr=False)
class DirichletMultinomialMixture(GibbsMixture):
    """Mixture of Dirichlet-multinomials with at most n_clusters clusters (GSDMM, FGSDMM+, X-DMM).

    p(z_d = z | rest) ∝ (m_z + α) ∏_w ∏_{j<N_d^w} (n_z^w + β + j) / ∏_{i<N_d} (n_z + Vβ + i)   (GSDPMM, eq. IV.28)

    Parameters
    ----------
    n_clusters : int, default=100
        Upper bound on the number of clusters; many of them end up empty.
    alpha : float, "learn" or array of shape (n_clusters,), default=0.1
        Pseudo-count of each cluster. (The α of GSDPMM's eq. IV.28 is n_clusters × alpha.) "learn": drawn in each sweep
        (a slice step on its logarithm), from 0.1 on. An array: one for each cluster, which then differ also while
        they are empty; clusters are numbered by size in the end all the same.
    beta : float, "learn" or array of shape (n_words,), default=0.1
        Pseudo-count of each word in each cluster. Larger: fewer clusters. "learn": as alpha. An array: one for each
        word, by its frequency for instance.
    inference : {"gibbs", "metropolis", "parallel", "auto"}, default="gibbs"
        "gibbs": exact collapsed Gibbs sampling. "metropolis": Gibbs until few documents move, then
        Metropolis-Hastings, whose sweeps cost the same for any number of clusters (X-DMM); near the exact distribution
        but not it, since proposals follow the chain. "parallel": all documents side by side, given the clusters that
        the sweep began with (X-DMM, Algorithm 3); an approximation that runs on all cores, or on a Dask cluster.
        "auto": "parallel" from a million stored counts on, else "gibbs".
    init : "random", "online" or array of shape (n_documents,), default="random"
        Random clusters; documents that come one by one, in random order, each drawn given those before it, so that
        clusters are opened as needed (FGSDMM+); or labels 0 … n_clusters − 1 to start from (anything for documents
        without words). The parallel sampler makes two collapsed sweeps from such a start over as many documents as
        have four million counts; given labels it takes as they are.
    n_sweeps : int, default=100
        Upper bound on the number of sweeps.
    tol : float, default=1e-3
        Sampling stops when, over five sweeps, the log joint rises and the number of moves falls by less than this, a
        document. 0 runs all sweeps.
    sampler : {"auto", "sparse", "dense"}, default="auto"
        How the counts of clusters are stored: as lists of (cluster, count) pairs for each word, as a row for each word
        with a column for each cluster, or for each word whichever is faster. The distribution sampled is the same.
    polish : bool, default=True
        End at a fixed point: documents move to their most probable cluster until none would; of the parallel sampler,
        until no more than a share of `tol` would. False: the last sample.
    outlier_size : int, default=1
        Documents in clusters of at most so many documents are outliers.
    switch : int or "auto", default="auto"
        Metropolis: Gibbs sweeps before; "auto": until a sweep moves fewer than a tenth of the documents.
    word_probabilities : {"means", "sampled", "uncollapsed"}, default="means"
        Parallel: those of a cluster at their posterior mean, or drawn from their posterior in each sweep, or so with
        the weights of clusters drawn as well, which is the exact uncollapsed Gibbs sampler.
    leave_out : bool, default=True
        Parallel, means: whether a document's own words are left out of its cluster when it is drawn. False: Algorithm 3
        as it is printed.
    engine : {"serial", "threads", "dask"}, default="threads"
        Parallel: where sweeps run. Labels do not depend on it.
    client : distributed.Client, address or None, default=None
        The Dask cluster; None starts one on this machine.
    n_jobs : int or None, default=-1
        Parallel: threads, −1 for as many as there are cores. Labels do not depend on it.
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
        n_clusters, n_moved, log_joint, seconds; alpha and beta where they are learned, perplexity, n_refreshed.
    inference_
        "gibbs", "metropolis" or "parallel".
    n_iter_, converged_, log_joint_
        Sweeps done; whether the end is such a fixed point (polish=True) or sampling stopped by itself;
        log p(labels, words).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GibbsMixture._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"}), "array-like"],
        "init": [StrOptions({"random", "online"}), "array-like"],
    }

    _beta_to_start_from = 0.1

    n_clusters: int = 100
    alpha: Any = 0.1
    beta: Any = 0.1
    _: KW_ONLY
    init: Any = "random"

    def _make_prior(self, n_documents: int) -> Prior:
        if isinstance(self.alpha, str):
            return finite_dirichlet(self.n_clusters, ALPHA_TO_START_FROM)
        return finite_dirichlet(
            self.n_clusters, check_pseudo_counts(self.alpha, int(self.n_clusters), "alpha", "clusters")
        )

    def _alpha_of(self, prior: Prior) -> float:
        return prior.alpha

    def _start(self, has_words: NDArray[np.bool_]) -> NDArray[np.int32] | int | str:
        if isinstance(self.init, str):
            return int(self.n_clusters) if self.init == "random" else self.init
        return check_labels(self.init, has_words, int(self.n_clusters))
