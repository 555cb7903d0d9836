"""The same mathematics as the kernels, slow and obvious: the judge of every one of them.

A corpus is a dense documents × words array of counts; a partition is an array of labels, −1 for documents without
words. beta is a number, or one for each word. A prior is ("finite", K, alpha), ("process", alpha), or ("finite", K,
(alpha_1, …, alpha_K)): there clusters differ, also empty ones, so that labels count and not only who is with whom.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln, xlogy

mpmath.mp.dps = 40
NEW = "new"


@functools.lru_cache(maxsize=1 << 18)  # clusters that a partition and its neighbours share are summed up again
def log_rising(x: float, n: float) -> float:
    """log Γ(x + n) − log Γ(x); for large n with 40 digits, since joints of 10^7 nats are to be compared to 1e-9."""
    if n <= 2000:
        if n == int(n):
            return math.fsum(math.log(x + i) for i in range(int(n)))
        return math.lgamma(x + n) - math.lgamma(x)
    with mpmath.workdps(40):
        return mpmath.loggamma(mpmath.mpf(x) + int(n)) - mpmath.loggamma(x)


Beta = float | np.ndarray


def is_labelled(prior: tuple) -> bool:
    """Whether the clusters of a prior differ."""
    return prior[0] == "finite" and np.ndim(prior[2]) == 1


def log_likelihood(counts: np.ndarray, labels: np.ndarray, beta: Beta) -> float:
    """log p(words | labels): each cluster a Dirichlet-multinomial (GSDPMM, eq. IV.26; X-DMM, eq. 1)."""
    betas = np.broadcast_to(beta, counts.shape[1])
    total = 0.0
    for cluster in set(labels[labels >= 0].tolist()):
        words = counts[labels == cluster].sum(axis=0)
        total += sum(log_rising(b, count) for b, count in zip(betas, words, strict=True))
        total -= log_rising(math.fsum(betas), words.sum())
    return total


def log_prior(labels: np.ndarray, prior: tuple) -> float:
    """log p(labels)."""
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    n_documents = int(sizes.sum())
    if is_labelled(prior):
        by_label = np.bincount(labels[labels >= 0], minlength=prior[1])
        rising = sum(log_rising(alpha, int(size)) for alpha, size in zip(prior[2], by_label, strict=True))
        return rising - log_rising(math.fsum(prior[2]), n_documents)
    if prior[0] == "finite":
        _, n_clusters, alpha = prior
        return sum(log_rising(alpha, size) for size in sizes) - log_rising(n_clusters * alpha, n_documents)
    alpha = prior[1]
    return len(sizes) * math.log(alpha) + sum(math.lgamma(size) for size in sizes) - log_rising(alpha, n_documents)


def log_joint(counts: np.ndarray, labels: np.ndarray, beta: Beta, prior: tuple) -> float:
    """log p(labels, words)."""
    return log_likelihood(counts, labels, beta) + log_prior(labels, prior)


def log_options(counts: np.ndarray, labels: np.ndarray, document: int, beta: Beta, prior: tuple) -> dict:
    """log p(all labels, words) for each label that one document may have, the others being as they are.

    Keys are the labels that the others hold, and NEW for a cluster that none of them is in: for the finite prior all
    such clusters together. Where clusters differ, keys are all labels.
    """
    others = np.delete(labels, document)
    used = sorted(set(others[others >= 0].tolist()))
    options: dict = {}
    for label in range(prior[1]) if is_labelled(prior) else used:
        options[label] = log_joint(counts, _with(labels, document, label), beta, prior)
    if not is_labelled(prior):
        fresh = max(used, default=-1) + 1
        log_new = log_joint(counts, _with(labels, document, fresh), beta, prior)
        n_ways = prior[1] - len(used) if prior[0] == "finite" else 1
        if n_ways > 0:
            options[NEW] = log_new + math.log(n_ways)
    return options


def conditional(counts: np.ndarray, labels: np.ndarray, document: int, beta: Beta, prior: tuple) -> dict:
    """p(label of one document | all other labels, words) as a ratio of joints; keys as for `log_options`."""
    return normalised(log_options(counts, labels, document, beta, prior))


def normalised(logs: dict) -> dict:
    """Probabilities from logarithms of weights."""
    highest = max(logs.values())
    weights = {option: math.exp(float(value - highest)) for option, value in logs.items()}
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


def outcome(labels: np.ndarray, prior: tuple) -> tuple[int, ...]:
    """What a draw is a draw of: the labels where clusters differ, else who is with whom."""
    return tuple(labels.tolist()) if is_labelled(prior) else canonical(labels)


def posterior(counts: np.ndarray, beta: Beta, prior: tuple) -> dict[tuple[int, ...], float]:
    """The exact posterior over all outcomes (partitions, or labels where clusters differ) of a tiny corpus."""
    if is_labelled(prior):
        everything = itertools.product(range(prior[1]), repeat=len(counts))
        return normalised({labels: log_joint(counts, np.array(labels), beta, prior) for labels in everything})
    bound = prior[1] if prior[0] == "finite" else None
    logs = {}
    for partition in partitions(len(counts), bound):
        value = log_joint(counts, np.array(partition), beta, prior)
        if prior[0] == "finite":
            # Each partition into k clusters stands for K!/(K − k)! assignments of labels.
            k = max(partition) + 1
            value += math.lgamma(prior[1] + 1) - math.lgamma(prior[1] - k + 1)
        logs[partition] = value
    return normalised(logs)


def one_by_one(counts: np.ndarray, beta: Beta, prior: tuple) -> dict[tuple[int, ...], float]:
    """The distribution of outcomes when documents come in random order, each drawn given those before it (FGSDMM+)."""
    n_documents = len(counts)
    found: dict[tuple[int, ...], float] = {}

    def come(labels: np.ndarray, order: tuple[int, ...], probability: float) -> None:
        if not order:
            key = outcome(labels, prior)
            found[key] = found.get(key, 0.0) + probability / math.factorial(n_documents)
            return
        for option, share in conditional(counts, labels, order[0], beta, prior).items():
            label = labels.max() + 1 if option == NEW else option
            come(_with(labels, order[0], label), order[1:], probability * share)

    for order in itertools.permutations(range(n_documents)):
        come(np.full(n_documents, -1), order, 1.0)
    return found


def polish(counts: np.ndarray, labels: np.ndarray, beta: Beta, prior: tuple, max_passes: int = 100) -> np.ndarray:
    """Move documents, in turn, to their most probable option until none moves; ties within 1e-9 stay."""
    labels = labels.copy()
    for _ in range(max_passes):
        moved = False
        for document in np.flatnonzero(labels >= 0):
            probabilities = conditional(counts, labels, document, beta, prior)
            alone = int((labels == labels[document]).sum()) == 1
            own = NEW if alone and not is_labelled(prior) else labels[document]
            # Among equals the sampler takes the first cluster and a cluster before a new one; so does this.
            best = max(probabilities, key=lambda option: (probabilities[option], option != NEW))
            if best != own and probabilities[best] > probabilities[own] * (1 + 1e-9):
                labels[document] = labels.max() + 1 if best == NEW else best
                moved = True
        if not moved:
            break
    return labels


def log_density(counts: np.ndarray, labels: np.ndarray, new_document: np.ndarray, beta: Beta, prior: tuple) -> float:
    """log p(a new document | the partition and its words), as a ratio of joints summed over its label."""
    extended = np.vstack([counts, new_document])
    used = sorted(set(labels[labels >= 0].tolist()))
    base = log_joint(counts, labels, beta, prior)
    options = range(prior[1]) if is_labelled(prior) else used
    terms = [log_joint(extended, np.append(labels, label), beta, prior) - base for label in options]
    n_ways = prior[1] - len(used) if prior[0] == "finite" else 1
    if n_ways > 0 and not is_labelled(prior):
        fresh = max(used, default=-1) + 1
        terms.append(log_joint(extended, np.append(labels, fresh), beta, prior) - base + math.log(n_ways))
    highest = max(terms)
    return float(highest) + math.log(math.fsum(math.exp(float(term - highest)) for term in terms))


# X-DMM: clusters at their posterior means.


def log_weights_at_means(counts, labels, words, beta: Beta, prior: tuple) -> dict:
    """log θ̂_k ∏_w φ̂_kw^N_w of a document with these words for each label, at the posterior means (Algorithm 3, eq. 3).

    Those of labels without documents are under NEW, all together; where clusters differ each has its label.
    """
    betas = np.broadcast_to(beta, counts.shape[1])
    used = sorted(set(labels[labels >= 0].tolist()))
    n_documents = int((labels >= 0).sum())
    labelled = is_labelled(prior)
    alphas = prior[2] if labelled else [prior[2] if prior[0] == "finite" else 0.0] * (max(used, default=-1) + 1)
    mass = math.fsum(prior[2]) if labelled else prior[1] * prior[2] if prior[0] == "finite" else prior[1]
    logs = {}
    for label in range(prior[1]) if labelled else used:
        members = counts[labels == label]
        phi = (members.sum(axis=0) + betas) / (members.sum() + math.fsum(betas))
        log_theta = math.log(len(members) + alphas[label]) - math.log(n_documents + mass)
        logs[label] = log_theta + math.fsum(n * math.log(p) for n, p in zip(words, phi, strict=True))
    empty = prior[2] * (prior[1] - len(used)) if prior[0] == "finite" and not labelled else prior[1]
    if not labelled and empty > 0:
        log_theta = math.log(empty) - math.log(n_documents + mass)
        logs[NEW] = log_theta + math.fsum(n * math.log(b / math.fsum(betas)) for n, b in zip(words, betas, strict=True))
    return logs


def perplexity(counts, labels, beta: Beta, prior: tuple, documents=None) -> float:
    """exp(−Σ_d log Σ_k θ̂_k ∏_w φ̂_kw^N_dw / Σ_d N_d) (eq. 3) of new documents, or of all, left out of their clusters."""
    total, n_tokens = 0.0, 0.0
    for index, words in enumerate(counts if documents is None else documents):
        others = _with(labels, index, -1) if documents is None else labels
        logs = log_weights_at_means(counts, others, words, beta, prior)
        if words.sum() > 0:
            total += math.log(math.fsum(math.exp(value - max(logs.values())) for value in logs.values()))
            total += max(logs.values())
            n_tokens += float(words.sum())
    return math.exp(-total / n_tokens) if n_tokens > 0 else math.nan


def distance(seen: Counter, expected: dict) -> float:
    """The total variation distance between draws and a distribution."""
    n_draws = sum(seen.values())
    return 0.5 * sum(abs(seen[key] / n_draws - expected.get(key, 0.0)) for key in seen.keys() | expected.keys())


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


def chi_square_p_value(seen: Counter, expected: dict, n_draws: int) -> float:
    """The p-value of a chi-square test; partitions expected fewer than five times are put together."""
    frequent = [partition for partition, p in expected.items() if p * n_draws >= 5]
    observed = [seen[partition] for partition in frequent]
    awaited = [expected[partition] * n_draws for partition in frequent]
    rest = n_draws - sum(awaited)
    if rest > 1:
        observed.append(n_draws - sum(observed))
        awaited.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, awaited, strict=True))
    return float(stats.chi2.sf(statistic, len(awaited) - 1))


# Feature partition (DMAFP). lam and beta have an entry a word; alpha is α of the paper, α/N for each of N clusters.


def feature_partition_log_joint(counts, labels, chosen, n_clusters, alpha, omega, lam, beta, normalised=False):
    """log f(words | labels, γ) p(labels) p(γ) without multinomial coefficients: eq. 11 to 14, factor by factor."""
    n_words = counts.shape[1]
    own = [j for j in range(n_words) if chosen[j]]
    shared = [j for j in range(n_words) if not chosen[j]]
    own_support = own if normalised else range(n_words)
    shared_support = shared if normalised else range(n_words)
    total = 0.0
    for i in range(n_clusters):
        members = counts[np.asarray(labels) == i]
        n = {j: float(members[:, j].sum()) if j in own else 0.0 for j in own_support}
        total += _log_dirichlet_multinomial(n, {j: lam[j] for j in own_support})
    background = {j: float(counts[:, j].sum()) if j in shared else 0.0 for j in shared_support}
    total += _log_dirichlet_multinomial(background, {j: beta[j] for j in shared_support})
    if normalised and own and shared:
        inside, outside = float(counts[:, own].sum()), float(counts[:, shared].sum())
        total += math.lgamma(1 + inside) + math.lgamma(1 + outside) - math.lgamma(2 + inside + outside)
    sizes = {i: float(np.count_nonzero(np.asarray(labels) == i)) for i in range(n_clusters)}
    total += _log_dirichlet_multinomial(sizes, dict.fromkeys(range(n_clusters), alpha / n_clusters))
    return total + len(own) * math.log(omega) + len(shared) * math.log(1 - omega)


def _log_dirichlet_multinomial(counts: dict, parameters: dict) -> float:
    """log of ∫ ∏ p^counts Dirichlet(p | parameters) dp; 0 where there is nothing to be distributed."""
    if not parameters:
        return 0.0
    total = math.lgamma(sum(parameters.values())) - math.lgamma(sum(parameters.values()) + sum(counts.values()))
    return total + sum(math.lgamma(parameters[k] + counts[k]) - math.lgamma(parameters[k]) for k in parameters)


def feature_partition_posterior(counts, n_clusters, alpha, omega, lam, beta, normalised=False):
    """p(partition of the documents, γ | words), every one of them listed: {(canonical labels, γ): probability}."""
    n_documents, n_words = counts.shape
    log_joints: dict = {}
    for labels in itertools.product(range(n_clusters), repeat=n_documents):
        for chosen in itertools.product((False, True), repeat=n_words):
            value = feature_partition_log_joint(counts, labels, chosen, n_clusters, alpha, omega, lam, beta, normalised)
            key = canonical(np.array(labels)), chosen
            log_joints[key] = np.logaddexp(log_joints.get(key, -np.inf), value)
    highest = max(log_joints.values())
    total = sum(math.exp(value - highest) for value in log_joints.values())
    return {key: math.exp(value - highest) / total for key, value in log_joints.items()}


def variational_iteration(counts, posteriors, relevance, alpha, omega, lam, beta, partition=True):
    """Eq. 19 to 21, then 23, then 22, one number at a time; returns σ, τ_0, τ, ω_j and φ (normalised)."""
    n_documents, n_words = counts.shape
    n_clusters = posteriors.shape[1]
    sigma = [alpha / n_clusters + sum(posteriors[d, i] for d in range(n_documents)) for i in range(n_clusters)]
    tau_0 = [beta[j] + sum(counts[d, j] * (1 - relevance[j]) for d in range(n_documents)) for j in range(n_words)]
    tau = [
        [
            lam[j] + sum(counts[d, j] * relevance[j] * posteriors[d, i] for d in range(n_documents))
            for j in range(n_words)
        ]
        for i in range(n_clusters)
    ]
    logs = [[digamma(tau[i][j]) - digamma(sum(tau[i])) for j in range(n_words)] for i in range(n_clusters)]
    new_relevance = list(relevance)
    if partition:
        for j in range(n_words):
            a = math.log(omega / (1 - omega))
            for d in range(n_documents):
                a -= counts[d, j] * (digamma(tau_0[j]) - digamma(sum(tau_0)))
                a += sum(counts[d, j] * posteriors[d, i] * logs[i][j] for i in range(n_clusters))
            new_relevance[j] = 1.0 / (1.0 + math.exp(-a))
    new_posteriors = np.empty_like(posteriors)
    for d in range(n_documents):
        m = [
            sum(counts[d, j] * new_relevance[j] * logs[i][j] for j in range(n_words))
            + digamma(sigma[i])
            - digamma(sum(sigma))
            for i in range(n_clusters)
        ]
        weights = np.exp(np.array(m) - max(m))
        new_posteriors[d] = weights / weights.sum()
    return np.array(sigma), np.array(tau_0), np.array(tau), np.array(new_relevance), new_posteriors


def variational_bound(counts, sigma, tau_0, tau, relevance, posteriors, alpha, omega, lam, beta, partition=True):
    """(E_q[log f(everything)], E_q[log q]) term by term (eq. 17, 18); the bound is their difference."""
    n_documents, n_words = counts.shape
    n_clusters = posteriors.shape[1]
    log_p = digamma(sigma) - digamma(sigma.sum())
    log_0 = digamma(tau_0) - digamma(tau_0.sum())
    logs = digamma(tau) - digamma(tau.sum(axis=1))[:, np.newaxis]
    expected = _expected_log_dirichlet(np.full(n_clusters, alpha / n_clusters), log_p)
    log_q = _expected_log_dirichlet(sigma, log_p)
    for i in range(n_clusters):
        expected += _expected_log_dirichlet(lam, logs[i])
        log_q += _expected_log_dirichlet(tau[i], logs[i])
    if partition:
        expected += _expected_log_dirichlet(beta, log_0)
        log_q += _expected_log_dirichlet(tau_0, log_0)
        for w in relevance:
            expected += w * math.log(omega) + (1 - w) * math.log(1 - omega)
            log_q += xlogy(w, w) + xlogy(1 - w, 1 - w)
    for d in range(n_documents):
        expected += gammaln(counts[d].sum() + 1) - gammaln(counts[d] + 1).sum()
        for i in range(n_clusters):
            expected += posteriors[d, i] * log_p[i]
            log_q += xlogy(posteriors[d, i], posteriors[d, i])
            for j in range(n_words):
                expected += posteriors[d, i] * counts[d, j] * relevance[j] * logs[i][j]
        for j in range(n_words):
            expected += counts[d, j] * (1 - relevance[j]) * log_0[j]
    return float(expected), float(log_q)


def _expected_log_dirichlet(parameters, logs):
    """E[log Dirichlet(p | parameters)] where E[log p] = logs."""
    return gammaln(parameters.sum()) - gammaln(parameters).sum() + ((parameters - 1) * logs).sum()


# Collapsed directions: documents are unit vectors and words; each of the clusters 0 … K − 1 has the pseudo-count alpha.


def log_direction_weight(length: float, n_dimensions: int, kappa: float) -> float:
    """g(r) of a cluster whose vectors have a sum of this length (models/collapsed_directions.py)."""
    order = n_dimensions / 2 - 1
    root = math.sqrt((kappa * length) ** 2 + (order + 1.5) ** 2)
    return root - (order + 0.5) * math.log(order + 0.5 + root)


def direction_log_joint(
    vectors: np.ndarray,
    labels: np.ndarray,
    kappa: float,
    alpha: float,
    n_clusters: int,
    counts: np.ndarray,
    beta: float,
) -> float:
    """log p(labels) + log p(words | labels) + Σ_z (g(|S_z|) − g(0))."""
    total = log_prior(labels, ("finite", n_clusters, alpha)) + log_likelihood(counts, labels, beta)
    for cluster in set(labels.tolist()):
        length = float(np.linalg.norm(vectors[labels == cluster].sum(axis=0)))
        total += log_direction_weight(length, vectors.shape[1], kappa)
        total -= log_direction_weight(0.0, vectors.shape[1], kappa)
    return total


def direction_conditional(
    vectors: np.ndarray, labels: np.ndarray, document: int, kappa: float, alpha: float, n_clusters: int, *words: Any
) -> dict[int, float]:
    """p(label of one document | all other labels, vectors, words) as a ratio of joints."""
    options = {label: _with(labels, document, label) for label in range(n_clusters)}
    return normalised(
        {label: direction_log_joint(vectors, new, kappa, alpha, n_clusters, *words) for label, new in options.items()}
    )


def direction_posterior(
    vectors: np.ndarray, kappa: float, alpha: float, n_clusters: int, *words: Any
) -> dict[tuple[int, ...], float]:
    """The exact posterior over all labels of a few documents."""
    return normalised(
        {
            labels: direction_log_joint(vectors, np.array(labels), kappa, alpha, n_clusters, *words)
            for labels in itertools.product(range(n_clusters), repeat=len(vectors))
        }
    )


def joint_distribution_scores(direct: np.ndarray, chain: np.ndarray, n_batches: int = 20) -> np.ndarray:
    """z-scores of the difference between two ways to draw parameters and data jointly (Geweke 2004), a column each.

    `direct` are independent draws from the prior and the model; `chain` alternates the sampler under test with new data
    given its state. The error of the chain's mean is estimated from batches.
    """
    batches = np.array([batch.mean(axis=0) for batch in np.array_split(chain, n_batches)])
    variance = direct.var(axis=0) / len(direct) + batches.var(axis=0, ddof=1) / n_batches
    return (direct.mean(axis=0) - chain.mean(axis=0)) / np.sqrt(variance)


def draw_words(row: np.ndarray, most: int, uniforms: np.ndarray) -> np.ndarray:
    """A document of at most so many of its words, by Floyd's method on the places of all of them."""
    if row.sum() <= most:
        return row
    places = [word for word, count in enumerate(row) for _ in range(int(count))]
    chosen: set[int] = set()
    for top, uniform in zip(range(len(places) - most, len(places)), uniforms, strict=True):
        place = int(uniform * (top + 1))
        chosen.add(top if place in chosen else place)
    return np.bincount([places[place] for place in chosen], minlength=row.size)


def information_lost(one: np.ndarray, other: np.ndarray) -> float:
    """By merging two clusters of words: their sizes times their entropies, together and apart."""

    def size_times_entropy(row: np.ndarray) -> float:
        return float(row.sum() * stats.entropy(row)) if row.sum() > 0 else 0.0

    return size_times_entropy(one + other) - size_times_entropy(one) - size_times_entropy(other)


def merge_greedily(clusters: np.ndarray) -> list[tuple[set[int], float]]:
    """Merge the two clusters (rows) that lose least, until one is left: what each merge brings together, its loss."""
    groups = [({number}, row) for number, row in enumerate(clusters)]
    merges = []
    while len(groups) > 1:
        losses = {
            (i, j): information_lost(groups[i][1], groups[j][1])
            for i, j in itertools.combinations(range(len(groups)), 2)
        }
        (i, j), loss = min(losses.items(), key=lambda item: item[1])
        together = (groups[i][0] | groups[j][0], groups[i][1] + groups[j][1])
        groups = [group for number, group in enumerate(groups) if number not in (i, j)] + [together]
        merges.append((together[0], loss))
    return merges


def stability(labels: np.ndarray, cluster: int, runs: np.ndarray) -> float:
    """The mean over runs of the Jaccard similarity of a cluster with the most similar one of a run that saw it."""
    best = []
    for run in runs:
        members = set(np.flatnonzero((labels == cluster) & (run >= 0)))
        if not members:
            continue
        others = [set(np.flatnonzero(run == other)) for other in np.unique(run[run >= 0])]
        best.append(max((len(members & other) / len(members | other) for other in others), default=0.0))
    return float(np.mean(best))


def outlier_score(counts: np.ndarray, labels: np.ndarray, document: int, weight: float) -> float:
    """The mean over a document's words of log(share in all others / share in the others of its cluster)."""
    others = np.arange(len(counts)) != document
    everywhere = counts[others & (labels >= 0)].sum(axis=0)
    cluster = counts[others & (labels == labels[document])].sum(axis=0)
    total = 0.0
    for word, count in enumerate(counts[document]):
        if count > 0:
            share = everywhere[word] / everywhere.sum() if everywhere[word] else None
            if share is None:
                ratio = (cluster.sum() + weight) / weight
            else:
                ratio = share * (cluster.sum() + weight) / (cluster[word] + weight * share)
            total += count * math.log(ratio)
    return total / counts[document].sum()


def fit_of_cluster(row: np.ndarray, examples: np.ndarray, everything: np.ndarray, share: float) -> float:
    """How much more probable a document's words are where a share of them is as in examples, the rest as in all."""
    total = 0.0
    for word, count in enumerate(row):
        if count > 0:
            own = examples[:, word].sum() / examples.sum()
            at_large = everything[:, word].sum() / everything.sum()
            total += count * math.log((share * own + (1 - share) * at_large) / at_large)
    return total


def npmi_coherence(counts, words):
    """The mean over pairs of words of log(p(v, w) / (p(v) p(w))) / −log p(v, w), by documents that have words."""
    documents = [set(np.flatnonzero(row)) for row in counts if row.any()]
    values = []
    for v, w in itertools.combinations(words, 2):
        p_v, p_w, both = (sum(own <= document for document in documents) / len(documents) for own in ({v}, {w}, {v, w}))
        if both == 0:
            values.append(-1.0)
        elif both == 1:
            values.append(1.0)
        else:
            values.append(math.log(both / (p_v * p_w)) / -math.log(both))
    return sum(values) / len(values)


def jensen_shannon_distance(one, other):
    """The square root of the Jensen-Shannon divergence of two distributions, to base 2."""
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2

    def divergence(distribution):
        return sum(x * math.log2(x / m) for x, m in zip(distribution, middle, strict=True) if x > 0)

    return math.sqrt(max((divergence(p) + divergence(q)) / 2, 0.0))


# Words and vectors together (inference/pooling.py)

LOWEST_LOG = -200.0  # of a probability by words: what is less is as good as this


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Of two vectors; 0 with a vector of zeros."""
    lengths = math.sqrt(math.fsum(x * x for x in one) * math.fsum(y * y for y in other))
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths > 0 else 0.0


def pooled_conditional(
    counts: np.ndarray,
    vectors: np.ndarray,
    labels: np.ndarray,
    document: int,
    beta: Beta,
    prior: tuple,
    word_weight: float,
    vector_weight: float,
) -> dict:
    """p(label of one document | all others) ∝ p(label | words)^a exp(b cos(x, S)), the document left out of both.

    A new cluster has the density of a uniform direction instead of a cosine. Keys are as for `log_options`. A document
    without words goes by the prior alone, one without a vector by words alone.
    """
    own, others = vectors[document], np.arange(len(labels)) != document
    by_words = {NEW: 0.0, **conditional(counts, labels, document, beta, prior)}
    logs = {}
    for option, probability in by_words.items():
        log_words = max(math.log(probability), LOWEST_LOG) if probability > 0 else LOWEST_LOG
        logs[option] = word_weight * log_words
        if not own.any():
            continue
        if option == NEW:
            logs[option] += log_direction_weight(1.0, own.size, vector_weight)
            logs[option] -= log_direction_weight(0.0, own.size, vector_weight)
        else:
            logs[option] += vector_weight * cosine(own, vectors[others & (labels == option)].sum(axis=0))
    return normalised(logs)


def word_points(counts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Documents as TF-IDF, log(1 + n) log(D / df), of length 1, where D documents have a label; zeros for others."""
    used = [document for document, label in enumerate(labels) if label >= 0]
    points = np.zeros(counts.shape)
    for document in used:
        for word, count in enumerate(counts[document]):
            if count > 0:
                frequency = sum(counts[other, word] > 0 for other in used)
                points[document, word] = math.log(1 + count) * math.log(len(used) / frequency)
        length = math.sqrt(math.fsum(points[document] ** 2))
        points[document] /= length if length > 0 else 1.0
    return points


def squared_differences(points: np.ndarray) -> float:
    """The sum of the squared distances of points from their mean."""
    return float(((points - points.mean(axis=0)) ** 2).sum())


def merge_by_ward(
    points: np.ndarray, labels: np.ndarray, apart: np.ndarray | None = None
) -> list[tuple[set[int], float]]:
    """Merge the two clusters whose documents (rows) then differ more by the least; all pairs are compared anew.

    Clusters to be kept apart, and what is merged from such, are merged with each other when nothing else is left.
    """
    groups = [{number} for number in range(int(labels.max()) + 1)]
    merges = []
    while len(groups) > 1:
        costs = {}
        for one, other in itertools.combinations(range(len(groups)), 2):
            members = [points[np.isin(labels, list(groups[group]))] for group in (one, other)]
            cost = squared_differences(np.vstack(members)) - sum(squared_differences(own) for own in members)
            both_apart = apart is not None and all(apart[list(groups[group])].any() for group in (one, other))
            costs[one, other] = (both_apart, cost)
        (one, other), (_, cost) = min(costs.items(), key=lambda item: item[1])
        together = groups[one] | groups[other]
        groups = [group for number, group in enumerate(groups) if number not in (one, other)] + [together]
        merges.append((together, cost))
    return merges


# ------------------------------------------------------------------ groups of clusters


def move_documents(words, vectors, shares, groups, n_groups, n_rounds):
    """Spherical k-means with each document left out of its group; ties go to the first group."""
    groups = groups.copy()
    for _ in range(n_rounds):
        found = groups.copy()
        for document in range(groups.size):
            scores = []
            for group in range(n_groups):
                others = (groups == group) & (np.arange(groups.size) != document)
                score = 0.0
                for rows, share in ((words, 1.0 - shares[document]), (vectors, shares[document])):
                    total = rows[others].sum(axis=0)
                    length = np.sqrt(total @ total)
                    score += share * (rows[document] @ total / length if length > 0 else 0.0)
                scores.append(score)
            found[document] = int(np.argmax(scores))
        n_moved = np.count_nonzero(found != groups)
        groups = found
        if n_moved <= 1e-3 * groups.size:
            break
    return groups
