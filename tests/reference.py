"""The same mathematics as the kernels, slow and obvious: the judge of every one of them.

A corpus is a dense documents × words array of counts; a partition is an array of labels, −1 for documents without
words. A prior is ("finite", K, alpha) or ("process", alpha).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np

mpmath.mp.dps = 40
NEW = "new"


def log_rising(x: float, n: float) -> float:
    """log Γ(x + n) − log Γ(x); for large n with 40 digits, since joints of 10^7 nats are to be compared to 1e-9."""
    if n <= 2000:
        if n == int(n):
            return math.fsum(math.log(x + i) for i in range(int(n)))
        return math.lgamma(x + n) - math.lgamma(x)
    with mpmath.workdps(40):
        return mpmath.loggamma(mpmath.mpf(x) + int(n)) - mpmath.loggamma(x)


def log_likelihood(counts: np.ndarray, labels: np.ndarray, beta: float) -> float:
    """log p(words | labels): each cluster a Dirichlet-multinomial (GSDPMM, eq. IV.26)."""
    n_words = counts.shape[1]
    total = 0.0
    for cluster in set(labels[labels >= 0].tolist()):
        words = counts[labels == cluster].sum(axis=0)
        total += sum(log_rising(beta, count) for count in words)
        total -= log_rising(n_words * beta, words.sum())
    return total


def log_prior(labels: np.ndarray, prior: tuple) -> float:
    """log p(labels)."""
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    n_documents = int(sizes.sum())
    if prior[0] == "finite":
        _, n_clusters, alpha = prior
        return sum(log_rising(alpha, size) for size in sizes) - log_rising(n_clusters * alpha, n_documents)
    alpha = prior[1]
    return len(sizes) * math.log(alpha) + sum(math.lgamma(size) for size in sizes) - log_rising(alpha, n_documents)


def log_joint(counts: np.ndarray, labels: np.ndarray, beta: float, prior: tuple) -> float:
    """log p(labels, words)."""
    return log_likelihood(counts, labels, beta) + log_prior(labels, prior)


def conditional(counts: np.ndarray, labels: np.ndarray, document: int, beta: float, prior: tuple) -> dict:
    """p(label of one document | all other labels, words) as a ratio of joints.

    Keys are the labels that the others hold, and NEW for a cluster that none of them is in: for the finite prior all
    such clusters together.
    """
    others = np.delete(labels, document)
    used = sorted(set(others[others >= 0].tolist()))
    options: dict = {}
    for label in used:
        options[label] = log_joint(counts, _with(labels, document, label), beta, prior)
    fresh = max(used, default=-1) + 1
    log_new = log_joint(counts, _with(labels, document, fresh), beta, prior)
    n_ways = prior[1] - len(used) if prior[0] == "finite" else 1
    if n_ways > 0:
        options[NEW] = log_new + math.log(n_ways)
    highest = max(options.values())
    weights = {option: math.exp(float(value - highest)) for option, value in options.items()}
    total = math.fsum(weights.values())
    return {option: weight / total for option, weight in weights.items()}


def _with(labels: np.ndarray, document: int, label: int) -> np.ndarray:
    changed = labels.copy()
    changed[document] = label
    return changed


def partitions(n: int, max_clusters: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every partition of n documents into at most max_clusters clusters, in canonical form."""

    def extend(prefix: list[int]) -> Iterator[tuple[int, ...]]:
        if len(prefix) == n:
            yield tuple(prefix)
            return
        used = max(prefix, default=-1) + 1
        for label in range(used + 1):
            if max_clusters is None or label < max_clusters:
                yield from extend([*prefix, label])

    yield from extend([])


def canonical(labels: np.ndarray) -> tuple[int, ...]:
    """A partition with its clusters numbered by first occurrence."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(label, len(seen)) for label in labels.tolist())


def posterior(counts: np.ndarray, beta: float, prior: tuple) -> dict[tuple[int, ...], float]:
    """The exact posterior over all partitions of a tiny corpus."""
    bound = prior[1] if prior[0] == "finite" else None
    logs = {}
    for partition in partitions(len(counts), bound):
        value = log_joint(counts, np.array(partition), beta, prior)
        if prior[0] == "finite":
            # Each partition into k clusters stands for K!/(K − k)! assignments of labels.
            k = max(partition) + 1
            value += math.lgamma(prior[1] + 1) - math.lgamma(prior[1] - k + 1)
        logs[partition] = value
    highest = max(logs.values())
    total = math.fsum(math.exp(float(value - highest)) for value in logs.values())
    return {partition: math.exp(float(value - highest)) / total for partition, value in logs.items()}


def polish(counts: np.ndarray, labels: np.ndarray, beta: float, prior: tuple, max_passes: int = 100) -> np.ndarray:
    """Move documents, in turn, to their most probable option until none moves; ties within 1e-9 stay."""
    labels = labels.copy()
    for _ in range(max_passes):
        moved = False
        for document in np.flatnonzero(labels >= 0):
            probabilities = conditional(counts, labels, document, beta, prior)
            alone = int((labels == labels[document]).sum()) == 1
            own = NEW if alone else labels[document]
            # Among equals the sampler takes the first cluster and a cluster before a new one; so does this.
            best = max(probabilities, key=lambda option: (probabilities[option], option != NEW))
            if best != own and probabilities[best] > probabilities[own] * (1 + 1e-9):
                labels[document] = labels.max() + 1 if best == NEW else best
                moved = True
        if not moved:
            break
    return labels


def log_density(counts: np.ndarray, labels: np.ndarray, new_document: np.ndarray, beta: float, prior: tuple) -> float:
    """log p(a new document | the partition and its words), as a ratio of joints summed over its label."""
    extended = np.vstack([counts, new_document])
    used = sorted(set(labels[labels >= 0].tolist()))
    base = log_joint(counts, labels, beta, prior)
    terms = [log_joint(extended, np.append(labels, label), beta, prior) - base for label in used]
    n_ways = prior[1] - len(used) if prior[0] == "finite" else 1
    if n_ways > 0:
        fresh = max(used, default=-1) + 1
        terms.append(log_joint(extended, np.append(labels, fresh), beta, prior) - base + math.log(n_ways))
    highest = max(terms)
    return float(highest) + math.log(math.fsum(math.exp(float(term - highest)) for term in terms))


# Mixtures fitted by EM: parameters of a cluster are what the papers call them, documents are rows of counts.


def bernoulli_parameters(counts: np.ndarray, shares: np.ndarray, smoothing: float = 1.0) -> np.ndarray:
    """P_y(l) of one cluster that documents belong to by these shares (Zhong and Ghosh, eq. 9)."""
    present = [
        sum(share for row, share in zip(counts, shares, strict=True) if row[word] > 0)
        for word in range(counts.shape[1])
    ]
    return np.array([(smoothing + value) / (2 * smoothing + sum(shares)) for value in present])


def bernoulli_log_likelihood(row: np.ndarray, probabilities: np.ndarray) -> float:
    """Zhong and Ghosh, eq. 8."""
    return math.fsum(math.log(p) if count > 0 else math.log1p(-p) for count, p in zip(row, probabilities, strict=True))


def multinomial_parameters(counts: np.ndarray, shares: np.ndarray, smoothing: float = 1.0) -> np.ndarray:
    """P_y(l) of one cluster (Zhong and Ghosh, eq. 11)."""
    sums = [
        smoothing + sum(share * row[word] for row, share in zip(counts, shares, strict=True))
        for word in range(counts.shape[1])
    ]
    return np.array(sums) / math.fsum(sums)


def multinomial_log_likelihood(row: np.ndarray, probabilities: np.ndarray) -> float:
    """log ∏_l P_y(l)^x(l)."""
    return math.fsum(count * math.log(p) for count, p in zip(row, probabilities, strict=True))


def log_von_mises_fisher(direction: np.ndarray, mean: np.ndarray, kappa: float) -> float:
    """Zhong and Ghosh, eq. 16, with 40 digits."""
    dimension = len(mean)
    order = mpmath.mpf(dimension) / 2 - 1
    log_c = (
        order * mpmath.log(kappa) - (order + 1) * mpmath.log(2 * mpmath.pi) - mpmath.log(mpmath.besseli(order, kappa))
    )
    return float(log_c + kappa * mpmath.mpf(math.fsum(direction * mean)))


def edcm_log_likelihood(row: np.ndarray, beta: np.ndarray) -> float:
    """log n! Γ(s)/Γ(s + n) ∏_{w: x_w > 0} β_w / x_w (Elkan 2006)."""
    n, s = float(row.sum()), math.fsum(beta)
    total = math.lgamma(n + 1) + math.lgamma(s) - math.lgamma(s + n)
    return total + math.fsum(math.log(b / count) for count, b in zip(row, beta, strict=True) if count > 0)


def cluster_posterior(log_likelihoods: np.ndarray, weights: np.ndarray, sharpness: float) -> np.ndarray:
    """P(y | x) ∝ α_y p(x | y)^sharpness (Zhong and Ghosh, eq. 3 and 7)."""
    terms = [
        mpmath.mpf(float(w)) * mpmath.exp(sharpness * mpmath.mpf(float(v)))
        for w, v in zip(weights, log_likelihoods, strict=True)
    ]
    return np.array([float(term / mpmath.fsum(terms)) for term in terms])


def objective(log_likelihoods: np.ndarray, weights: np.ndarray, sharpness: float) -> float:
    """1/b Σ_x log Σ_y α_y p(x | y)^b; at b = ∞ the sum of the largest (eq. 1, 2 and 6)."""
    if math.isinf(sharpness):
        return math.fsum(row.max() for row in log_likelihoods)
    total = mpmath.mpf(0)
    for row in log_likelihoods:
        total += mpmath.log(
            mpmath.fsum(
                mpmath.mpf(float(w)) * mpmath.exp(sharpness * mpmath.mpf(float(v)))
                for w, v in zip(weights, row, strict=True)
            )
        )
    return float(total / sharpness)
