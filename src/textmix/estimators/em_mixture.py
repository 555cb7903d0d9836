"""What the mixtures that are fitted by EM have in common: their settings and the fit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from textmix.corpus import Corpus
from textmix.engines.threads import threads
from textmix.estimators.counts import check_labels
from textmix.estimators.scored_mixture import ScoredMixture, has_words, make_documents
from textmix.inference.annealing import Constant, Geometric, Schedule
from textmix.inference.em import ASSIGNMENTS, EMSettings, estimate_one_cluster, fit_mixture
from textmix.inference.progress import Progress
from textmix.inference.seeds import seed_from
from textmix.models.components import ComponentModel, Mixture


@dataclass(eq=False, repr=False)
class EMMixture(ScoredMixture):
    """Base of the mixtures of Bernoullis, multinomials, von Mises-Fisher distributions and EDCMs: see these."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "assignment": [StrOptions(set(ASSIGNMENTS))],
        "weights": [StrOptions({"auto", "uniform", "learned"})],
        "schedule": ["array-like", None],
        "init": [StrOptions({"random", "documents"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "outlier_size": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "progress": ["boolean", None],
    }
    _default_schedule: ClassVar[tuple[float, float, float]]

    n_clusters: int = 2
    _: KW_ONLY
    assignment: str = "soft"
    weights: str = "auto"
    schedule: Any = None
    init: Any = "random"
    n_init: int = 1
    max_iter: int = 20
    tol: float = 1e-3
    outlier_size: int = 1
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool | None = None

    @abstractmethod
    def _model(self, n_words: int, lengths: NDArray[np.float64]) -> ComponentModel:
        """The component model for so many words and these distinct lengths of documents."""

    def _make_schedule(self) -> Schedule:
        if self.assignment == "hard":
            return Constant(np.inf)
        return self._annealing() if self.assignment == "annealed" else self._unannealed()

    def _unannealed(self) -> Schedule:
        """The sharpness of soft and stochastic assignment: EM."""
        return Constant(1.0)

    def _annealing(self) -> Geometric:
        start, factor, stop = self._default_schedule if self.schedule is None else check_schedule(self.schedule)
        return Geometric(start, factor, stop)

    def _learns_weights(self) -> bool:
        if self.weights == "auto":
            return self.assignment in ("soft", "stochastic")
        return self.weights == "learned" and self.assignment != "hard"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find n_clusters clusters in X: documents × words, sparse or dense, or a Corpus. y is ignored."""
        self._validate_params()
        matrix = self._check(X, reset=True)
        self._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
        representation = self._represent(matrix, fitting=True)
        used = has_words(representation.scored)
        n_documents, n_clusters = int(np.count_nonzero(used)), int(self.n_clusters)
        if n_documents < n_clusters:
            raise ValueError(f"n_samples={n_documents} documents with words should be >= n_clusters={n_clusters}.")
        start = self.init if isinstance(self.init, str) else check_labels(self.init, used, n_clusters)[used]
        documents, lengths = make_documents(representation, used)
        settings = EMSettings(
            n_clusters=n_clusters,
            assignment=self.assignment,
            schedule=self._make_schedule(),
            learn_weights=self._learns_weights(),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
        with threads(self.n_jobs) as engine:
            fitted = fit_mixture(
                documents,
                self._model(matrix.shape[1], lengths),
                start,
                settings,
                int(self.n_init),
                seed_from(self.random_state),
                engine,
                Progress(self.progress),
            )
        self._set_fitted(matrix, used, fitted)
        return self

    def _density_model(self, n_words: int, lengths: NDArray[np.float64]) -> ComponentModel:
        """The component model as a probability distribution."""
        return self._model(n_words, lengths)

    def _whole(self) -> Mixture:
        """One cluster of all training documents."""
        representation = self._represent(self._matrix, density=True)
        documents, lengths = make_documents(representation, self.labels_ >= 0)
        with threads(self.n_jobs) as engine:
            return estimate_one_cluster(documents, self._density_model(self._matrix.shape[1], lengths), engine)


def check_schedule(schedule: Any) -> tuple[float, float, float]:
    """Start, factor and stop of an annealing schedule."""
    values = np.asarray(schedule, dtype=np.float64).ravel()
    if values.size != 3 or not (np.isfinite(values).all() and 0 < values[0] <= values[2] and values[1] > 1):
        raise ValueError(
            f"schedule must be (start, factor, stop) with 0 < start <= stop and factor > 1, not {schedule!r}"
        )
    return float(values[0]), float(values[1]), float(values[2])
