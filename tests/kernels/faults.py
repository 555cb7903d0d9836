"""Deliberately broken copies of kernels and models: the ladder must catch every one of them.

`python tests/kernels/faults.py` tries all, `python tests/kernels/faults.py N …` the given ones. A copy of the package
with one line changed is put before the real one on the path, and the ladder (or the tests named) is run on it,
interpreted, so that nothing has to be compiled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


EM_TESTS = "tests/inference/test_em.py"
VARIATIONAL_TESTS = "tests/inference/test_variational.py"
BLOCKED_TESTS = "tests/inference/test_blocked_gibbs.py"
LEARNED_TESTS = "tests/inference/test_learned_prior.py"
ONLINE_TESTS = "tests/inference/test_online_start.py"
METROPOLIS_TESTS = "tests/inference/test_metropolis.py"
PARALLEL_TESTS = "tests/inference/test_parallel.py"
ASYMMETRIC_TESTS = "tests/inference/test_asymmetric_priors.py"
PERPLEXITY_TESTS = "tests/inference/test_perplexity.py"
CONSENSUS_TESTS = "tests/inference/test_consensus.py"
MERGING_TESTS = "tests/inference/test_merging.py"
KNOWN_CLUSTERS_TESTS = "tests/inference/test_known_clusters.py"
STREAM_TESTS = "tests/stream/test_moves.py"
GUIDED_TESTS = "tests/estimators/test_guided_consensus.py"
DIRECTION_TESTS = "tests/kernels/test_directions.py"
VOTES_TESTS = "tests/inference/test_votes.py"
HIERARCHY_TESTS = "tests/inference/test_hierarchy.py"
ELEMENTARY_TESTS = "tests/kernels/test_elementary.py"


class Fault(NamedTuple):
    """One wrong line: in `file`, `right` becomes `wrong`."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str = "tests/kernels/test_ladder.py"


FAULTS = [
    Fault(
        "votes count as if they were independent",
        "inference/votes.py",
        "DEPENDENCE = 0.2",
        "DEPENDENCE = 1.0",
        VOTES_TESTS,
    ),
    Fault(
        "a new cluster has no place among the groups",
        "inference/votes.py",
        "np.append(group_of[clusters], n_clusters)",
        "np.append(group_of[clusters], 0)",
        VOTES_TESTS,
    ),
    Fault(
        "a document counts in the mean of its own group",
        "inference/hierarchy.py",
        "cosines[rows, own] = (of_own - 1.0) / np.sqrt(left)",
        "cosines[rows, own] = of_own / np.sqrt(squares[own])",
        HIERARCHY_TESTS,
    ),
    Fault(
        "levels do not follow each other",
        "inference/hierarchy.py",
        "units = group_clusters(joined, number, merges)[units]",
        "units = group_clusters(documents, number)",
        HIERARCHY_TESTS,
    ),
    Fault(
        "the document is not taken out of its own cluster",
        "kernels/weights.py",
        "present = pair_counts[pair] - np.int32(slot == own) * count",
        "present = pair_counts[pair]",
    ),
    Fault(
        "a document alone leaves no empty cluster behind",
        "kernels/weights.py",
        "        fresh += pseudo_count(prior, own)\n",
        "        fresh += 0.0\n",
    ),
    Fault(
        "the own cluster keeps the document in its size",
        "kernels/weights.py",
        "weight = occupied_weight(prior, own, clusters.sizes[own] - 1)",
        "weight = occupied_weight(prior, own, clusters.sizes[own])",
    ),
    Fault(
        "the own cluster keeps the document in its length",
        "kernels/weights.py",
        "clusters.totals[own] - length, length)",
        "clusters.totals[own], length)",
    ),
    Fault(
        "a repeated word counts as two different ones",
        "kernels/weights.py",
        "product *= (count + beta + j * model.rise) / (beta + j * model.rise)",
        "product *= (count + beta) / beta",
    ),
    Fault(
        "clusters without a shared word are forgotten",
        "kernels/weights.py",
        "return np.int64(n_touched), total, max(table.sums[row] - (covered + covered_too), 0.0)",
        "return np.int64(n_touched), total, 0.0",
    ),
    Fault(
        "the sums are not corrected after a move",
        "kernels/weights.py",
        "table.sums[row] += weight - table.bases[row, slot]",
        "table.sums[row] += 0.0",
    ),
    Fault(
        "only the new cluster's column is written anew",
        "kernels/gibbs.py",
        "for changed in (own, slot):",
        "for changed in (slot,):",
    ),
    Fault(
        "the length enters without V β",
        "kernels/weights.py",
        "weight *= (model.vocabulary_beta + i * model.rise) / (start + i * model.rise)\n        reached",
        "weight *= (model.betas[0] + i * model.rise) / (start + i * model.rise)\n        reached",
    ),
    Fault(
        "log space: the own cluster keeps the document",
        "kernels/weights.py",
        "        size, total = size - 1, total - length\n",
        "        size, total = size - 1, total\n",
    ),
    Fault(
        "log space: the prior's pseudo-count is left out",
        "kernels/weights.py",
        "weight = occupied_weight(prior, slot, clusters.sizes[slot])\n        if weight > 0.0:\n",
        "weight = 1.0 * clusters.sizes[slot]\n        if weight > 0.0:\n",
    ),
    Fault(
        "a draw takes the next cluster",
        "kernels/gibbs.py",
        "    index = pick(scratch.weights, n_weights, scratch.sums, target)\n",
        "    index = min(pick(scratch.weights, n_weights, scratch.sums, target) + 1, n_weights - 1)\n",
    ),
    Fault(
        "greedy passes move on ties",
        "kernels/gibbs.py",
        "return slot if weight > current * (1.0 + TOLERANCE) else own",
        "return slot if weight >= current * (1.0 - 1e-3) else own",
    ),
    Fault(
        "removing a document leaves a pair of count zero",
        "kernels/statistics.py",
        "if clusters.pair_counts[pair] > count:",
        "if clusters.pair_counts[pair] >= count:",
    ),
    Fault(
        "a freed slot is not remembered",
        "kernels/statistics.py",
        "        clusters.counters[N_FREE] += 1\n",
        "        clusters.counters[N_FREE] += 0\n",
    ),
    Fault(
        "the Dirichlet process forgets α in the joint",
        "kernels/statistics.py",
        "total += n_clusters * math.log(prior.concentration)",
        "total += math.log(prior.concentration)",
    ),
    Fault(
        "Stirling's series without its correction",
        "kernels/gamma.py",
        "n * math.log(y) - n + correction",
        "n * math.log(y) - n",
    ),
    Fault(
        "fractional counts are rounded",
        "inference/layout.py",
        "2.0 ** max(60 - math.ceil(math.log2(max(total, 1.0))), 1)",
        "2.0",
    ),
    Fault(
        "products forget the words behind the last four",
        "kernels/em.py",
        "for entry in range(whole, stop):",
        "for entry in range(stop, stop):",
        EM_TESTS,
    ),
    Fault(
        "sums count a document that belongs nowhere",
        "kernels/em.py",
        "if label >= 0:",
        "if label >= -1:",
        EM_TESTS,
    ),
    Fault(
        "posteriors forget the temperature",
        "kernels/em.py",
        "values[k] = log_weights[k] + sharpness * values[k]",
        "values[k] = log_weights[k] + values[k]",
        EM_TESTS,
    ),
    Fault(
        "posteriors forget the weights of clusters",
        "kernels/em.py",
        "values[k] = log_weights[k] + sharpness * values[k]",
        "values[k] = sharpness * values[k]",
        EM_TESTS,
    ),
    Fault(
        "a drawn label is one too far",
        "kernels/em.py",
        "left >= posteriors[row, label]",
        "left >= 0.9 * posteriors[row, label]",
        EM_TESTS,
    ),
    Fault(
        "Bernoulli: words that are absent do not count",
        "models/bernoulli.py",
        "offsets=all_absent[np.newaxis]",
        "offsets=0.0 * all_absent[np.newaxis]",
        EM_TESTS,
    ),
    Fault(
        "multinomial: the total is not smoothed",
        "models/multinomial.py",
        "np.log(self.smoothing * n_words + statistics.sums.sum(axis=0))",
        "np.log(1e-9 + statistics.sums.sum(axis=0))",
        EM_TESTS,
    ),
    Fault(
        "von Mises-Fisher: κ without Newton's steps",
        "models/von_mises_fisher.py",
        "MAX_STEPS = 50",
        "MAX_STEPS = 0",
        EM_TESTS,
    ),
    Fault(
        "EDCM: the length enters without s",
        "models/edcm.py",
        "betaln(s, known[:, np.newaxis])",
        "betaln(1.0 + 0.0 * s, known[:, np.newaxis])",
        EM_TESTS,
    ),
    Fault(
        "EDCM: s does not solve its equation",
        "models/edcm.py",
        "excess = np.log(s * gaps) - np.log(totals)",
        "excess = np.log(gaps) - np.log(totals)",
        EM_TESTS,
    ),
    Fault(
        "soft assignment: the clusters' weights are never learned",
        "inference/em.py",
        "if self.settings.learn_weights:",
        "if False:",
        EM_TESTS,
    ),
    Fault(
        "digamma: its series is cut off",
        "kernels/word_split.py",
        "s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * slope))",
        "s * (1.0 / 120.0 - s * (1.0 / 252.0))",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "words: the prior is forgotten in τ",
        "kernels/word_split.py",
        "parameters[i] = prior + share * (row[i] / copies[i])",
        "parameters[i] = 1e-9 + share * (row[i] / copies[i])",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "words: the relevance does not see the background",
        "kernels/word_split.py",
        "log_odds = background[word] + explained",
        "log_odds = explained",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "words: documents are scored by the old relevance",
        "kernels/word_split.py",
        "            relevance[word] = share\n",
        "            relevance[word], share = share, relevance[word]\n",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "the bound forgets the entropy of the words",
        "inference/variational.py",
        "divergence -= word_entropy + prior",
        "divergence -= prior",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "the bound counts the prior of one cluster only",
        "inference/variational.py",
        "n_clusters * log_prior_normaliser - log_normalisers",
        "log_prior_normaliser - log_normalisers",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "eq. 32 without N",
        "inference/variational.py",
        "theta = theta._replace(alpha=n_clusters * a)",
        "theta = theta._replace(alpha=a)",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "eq. 33 is solved for the sum over clusters",
        "inference/variational.py",
        "maximise_dirichlet(self._log_sums / n_clusters, theta.word_prior)",
        "maximise_dirichlet(self._log_sums, theta.word_prior)",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "a flip forgets the words' background",
        "kernels/word_split.py",
        "change = -sign * log_rising_or_zero(shared_prior, word_total)",
        "change = 0.0",
        BLOCKED_TESTS,
    ),
    Fault(
        "a flip forgets the clusters' totals",
        "kernels/word_split.py",
        "change -= sign * log_rising(own + max(min(totals[i], totals[i] + sign * counts[i]), 0.0), counts[i])",
        "change -= 0.0",
        BLOCKED_TESTS,
    ),
    Fault(
        "normalised: the prior's sum does not follow the words",
        "kernels/word_split.py",
        "new_own = own + sign * prior if normalised else own",
        "new_own = own",
        BLOCKED_TESTS,
    ),
    Fault(
        "normalised: the share of discriminative words is forgotten",
        "kernels/word_split.py",
        "change += log_share(new_inside, new_outside, n_chosen + sign, n_words)",
        "change += log_share(inside, outside, n_chosen, n_words)",
        BLOCKED_TESTS,
    ),
    Fault(
        "a flip does not change the totals",
        "kernels/word_split.py",
        "totals[i] += sign * row[i]",
        "totals[i] += 0.0",
        BLOCKED_TESTS,
    ),
    Fault(
        "flips forget ω",
        "inference/blocked_gibbs.py",
        "float(logit(theta.omega))",
        "0.0",
        BLOCKED_TESTS,
    ),
    Fault(
        "η: words that are not drawn have no mass",
        "inference/blocked_gibbs.py",
        "if words.size < self.chosen.size and not self.settings.normalised:",
        "if False:",
        BLOCKED_TESTS,
    ),
    Fault(
        "P is drawn without its prior",
        "inference/blocked_gibbs.py",
        "log_gamma_variates(theta.alpha / n_clusters + self.sizes, rng)",
        "log_gamma_variates(1e-3 + self.sizes, rng)",
        BLOCKED_TESTS,
    ),
    Fault(
        "gamma variates forget that the shape was raised by 1",
        "inference/blocked_gibbs.py",
        "rng.standard_exponential(shapes.shape) / shapes",
        "0.0 * shapes",
        BLOCKED_TESTS,
    ),
    Fault(
        "ω is drawn without the words outside",
        "inference/blocked_gibbs.py",
        "rng.beta(1 + n_inside, 1 + n_words - n_inside)",
        "rng.beta(1 + n_inside, 1)",
        BLOCKED_TESTS,
    ),
    Fault(
        "a slice step on log a forgets the density of log a",
        "inference/hyperparameters.py",
        "return self.log_evidence(new) + prior.log_density(new) + log_a",
        "return self.log_evidence(new) + prior.log_density(new)",
        LEARNED_TESTS,
    ),
    Fault(
        "Escobar and West: the odds without the number of documents",
        "inference/hyperparameters.py",
        "odds = (prior.shape + n_clusters - 1.0) / (n_documents * rate)",
        "odds = (prior.shape + n_clusters - 1.0) / rate",
        LEARNED_TESTS,
    ),
    Fault(
        "words of one document are forgotten when β is drawn",
        "inference/hyperparameters.py",
        "frequencies=np.concatenate([shared.frequencies, frequencies]),",
        "frequencies=np.concatenate([shared.frequencies, 0 * frequencies]),",
        LEARNED_TESTS,
    ),
    Fault(
        "the tables do not follow the parameters",
        "inference/collapsed_gibbs.py",
        "        self.prepared = self.prepared._replace(log_lone_words=log_lone_words)\n        self._tabulate()",
        "        self.prepared = self.prepared._replace(log_lone_words=log_lone_words)",
        LEARNED_TESTS,
    ),
    Fault(
        "counts in rows are not gathered",
        "kernels/statistics.py",
        "            if clusters.rows[word, slot] > 0:\n                gathered[n]",
        "            if False:\n                gathered[n]",
        LEARNED_TESTS,
    ),
    Fault(
        "clusters that share a column count as one",
        "inference/variational.py",
        "copies[empty[0]] = copies[empty].sum()",
        "copies[empty[0]] = 1.0",
        VARIATIONAL_TESTS,
    ),
    Fault(
        "a group of words without members keeps what rounding left",
        "kernels/word_split.py",
        "some_outside, some_outside_then = min(n_words - n_chosen, 1.0), min(n_words - n_chosen - sign, 1.0)",
        "some_outside, some_outside_then = 1.0, 1.0",
        BLOCKED_TESTS,
    ),
    Fault(
        "an empty cluster that differs from others has no weight",
        "kernels/weights.py",
        "return size + pseudo_count(prior, slot) if size > 0 or prior.labelled else 0.0",
        "return size + pseudo_count(prior, slot) if size > 0 else 0.0",
    ),
    Fault(
        "all clusters have the first one's pseudo-count",
        "kernels/weights.py",
        "return prior.pseudo_counts[min(slot, prior.pseudo_counts.size - 1)]",
        "return prior.pseudo_counts[0]",
    ),
    Fault(
        "all words have the first one's β",
        "kernels/weights.py",
        "return model.betas[min(word, model.betas.size - 1)]",
        "return model.betas[0]",
    ),
    Fault(
        "the β of words come in the order of columns",
        "inference/layout.py",
        "return np.append(beta[words], np.delete(beta, words))",
        "return beta",
    ),
    Fault(
        "the joint has one pseudo-count for all clusters",
        "kernels/statistics.py",
        "log_rising(prior.pseudo_counts[min(slot, prior.pseudo_counts.size - 1)], size)",
        "log_rising(prior.pseudo_counts[0], size)",
    ),
    Fault(
        "a finished partition forgets the clusters that are empty",
        "priors/finite_dirichlet.py",
        "concentration=float(empty.sum())",
        "concentration=0.0",
        ASYMMETRIC_TESTS,
    ),
    Fault(
        "online: a document is counted twice",
        "kernels/gibbs.py",
        "        add_document(documents, clusters, document, slot)\n",
        "        add_document(documents, clusters, document, slot)\n        clusters.sizes[slot] += 1\n",
        ONLINE_TESTS,
    ),
    Fault(
        "online: documents may stay in the cluster that they come in",
        "priors/finite_dirichlet.py",
        "np.append(prior.pseudo_counts, 0.0), max_clusters=prior.max_clusters + 1",
        "np.append(prior.pseudo_counts, 1.0), max_clusters=prior.max_clusters + 1",
        ONLINE_TESTS,
    ),
    Fault(
        "online: the cluster that a document comes in has no weight for others",
        "kernels/gibbs.py",
        "        refresh_bases(clusters, model, prior, table, slot)\n        option",
        "        option",
        ONLINE_TESTS,
    ),
    Fault(
        "online: documents come in the order of the file",
        "inference/collapsed_gibbs.py",
        "order = rng.permutation(self.labels.size).astype(np.int64)",
        "order = np.arange(self.labels.size)",
        ONLINE_TESTS,
    ),
    Fault(
        "Metropolis: the acceptance ratio is upside down",
        "kernels/metropolis.py",
        "log_p - log_p_own + log_q_own - log_q, 0.0",
        "log_p_own - log_p + log_q - log_q_own, 0.0",
        METROPOLIS_TESTS,
    ),
    Fault(
        "Metropolis: q of the candidate is left out",
        "kernels/metropolis.py",
        "log_p - log_p_own + log_q_own - log_q, 0.0",
        "log_p - log_p_own + log_q_own, 0.0",
        METROPOLIS_TESTS,
    ),
    Fault(
        "Metropolis: q of the own cluster is left out",
        "kernels/metropolis.py",
        "log_p - log_p_own + log_q_own - log_q, 0.0",
        "log_p - log_p_own - log_q, 0.0",
        METROPOLIS_TESTS,
    ),
    Fault(
        "Metropolis: clusters without documents are no candidates",
        "inference/metropolis.py",
        "state.prior = state.prior._replace(labelled=True)",
        "state.prior = state.prior._replace(max_clusters=max(state.n_clusters, 1), labelled=True)",
        METROPOLIS_TESTS,
    ),
    Fault(
        "Metropolis: log q does not follow the label",
        "kernels/metropolis.py",
        "                proposals.log_q_own[document] = log_q\n",
        "                proposals.log_q_own[document] = log_q_own\n",
        METROPOLIS_TESTS,
    ),
    Fault(
        "one cluster's weight: the document's words are not taken out",
        "kernels/weights.py",
        "        if slot == own:\n            present -= count\n",
        "        if slot == own:\n            present -= 0\n",
        METROPOLIS_TESTS,
    ),
    Fault(
        "alias table: the large item gives too much",
        "kernels/metropolis.py",
        "shares[large] -= 1.0 - shares[small]",
        "shares[large] -= shares[small]",
        METROPOLIS_TESTS,
    ),
    Fault(
        "alias table: an item's place is its own",
        "kernels/metropolis.py",
        "return item if scaled - item < alias.shares[item] else np.int64(alias.others[item])",
        "return item",
        METROPOLIS_TESTS,
    ),
    Fault(
        "candidates without a shared word have the log q of all such clusters",
        "kernels/metropolis.py",
        "        return slot, math.log(weight)\n",
        "        return slot, math.log(rest)\n",
        METROPOLIS_TESTS,
    ),
    Fault(
        "candidates: draws of the held label are counted on",
        "kernels/metropolis.py",
        "        n_kept += 1\n        gap = 0\n",
        "        n_kept += 1\n",
        METROPOLIS_TESTS,
    ),
    Fault(
        "parallel: what leaves a cluster is added to it",
        "kernels/parallel.py",
        "documents.words[entry], before[document], -documents.counts[entry]",
        "documents.words[entry], before[document], documents.counts[entry]",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: who leaves a cluster is added to it",
        "kernels/parallel.py",
        "sizes[before[document]] -= 1",
        "sizes[before[document]] += 1",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: what leaves a cluster is added to its pairs",
        "kernels/parallel.py",
        "counts[last] += changed_counts[change]",
        "counts[last] += abs(changed_counts[change])",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: changes are added to the next pair where there is none",
        "kernels/parallel.py",
        "if last < stop and labels[last] == label:",
        "if last < stop:",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: merged labels are not in order",
        "kernels/parallel.py",
        "order, _ = sort_by(changed_labels, n_labels, everything)",
        "order = everything",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: a count that has gone to 0 stays in the lists",
        "kernels/parallel.py",
        "            if count != 0:\n",
        "            if True:\n",
        PARALLEL_TESTS,
    ),
    Fault(
        "probabilities: the bases of another length are taken",
        "kernels/conditionals.py",
        "if documents.lengths[document] != length:",
        "if length == 0:",
        ASYMMETRIC_TESTS,
    ),
    Fault(
        "probabilities are those of documents that nobody took out",
        "kernels/weights.py",
        "    if own >= 0:\n        log_weights[own] =",
        "    if own < -1:\n        log_weights[own] =",
    ),
    Fault(
        "parallel: logarithms forget β",
        "kernels/parallel.py",
        "log_pairs[pair] = log_ratio(counts[pair], scale, unit, usual)",
        "log_pairs[pair] = log_ratio(counts[pair], unit, unit, usual[:0])",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: the table of logarithms is one count off",
        "kernels/parallel.py",
        "        return usual[count]\n",
        "        return usual[max(count - 1, 0)]\n",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: fractional counts enter in units",
        "kernels/parallel.py",
        "return unit * math.log1p(count * scale) if count > 0",
        "return math.log1p(count * scale) if count > 0",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: long documents are not left out of their cluster",
        "kernels/parallel.py",
        "        if own >= 0 and taken_out:\n",
        "        if False:\n",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: a document alone leaves no empty cluster behind",
        "kernels/parallel.py",
        "fresh = new_weight(clusters, prior, own if taken_out else np.int64(-1))",
        "fresh = new_weight(clusters, prior, np.int64(-1))",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: powers rise as collapsed products do",
        "models/dirichlet_multinomial.py",
        "rise=0.0 if at_mean else 1.0",
        "rise=1.0",
        PARALLEL_TESTS,
    ),
    Fault(
        "parallel: any empty cluster is opened, whatever its pseudo-count",
        "inference/parallel.py",
        "bounds = np.cumsum(pseudo_counts[working.empty])",
        "bounds = np.cumsum(np.full(working.empty.size, pseudo_counts[working.empty].mean()))",
        PARALLEL_TESTS,
    ),
    Fault(
        "uncollapsed: the weights of clusters are not drawn",
        "inference/parallel.py",
        "    if task.form == UNCOLLAPSED:\n",
        "    if False:\n",
        PARALLEL_TESTS,
    ),
    Fault(
        "a resumed run repeats random numbers",
        "inference/parallel_fit.py",
        "state.sample(n_done + index, tick)",
        "state.sample(index, tick)",
        PARALLEL_TESTS,
    ),
    Fault(
        "perplexity: empty clusters have no share",
        "inference/perplexity.py",
        "math.log(n_others + prior.mass)",
        "math.log(n_others)",
        PERPLEXITY_TESTS,
    ),
    Fault(
        "perplexity: training documents are not left out",
        "inference/perplexity.py",
        "            True,\n            SCORE,\n",
        "            False,\n            SCORE,\n",
        PERPLEXITY_TESTS,
    ),
    Fault(
        "perplexity: the length of a fractional document is in units",
        "inference/perplexity.py",
        "lengths=-model.unit * np.log1p(",
        "lengths=-np.log1p(",
        PERPLEXITY_TESTS,
    ),
    Fault(
        "the same word of a document is drawn twice",
        "kernels/counts.py",
        "                    place = top\n",
        "                    place = places[other]\n",
        CONSENSUS_TESTS,
    ),
    Fault(
        "a drawn word is counted for the one before it",
        "kernels/counts.py",
        "while n < most and places[n] < passed:",
        "while n < most and places[n] <= passed:",
        CONSENSUS_TESTS,
    ),
    Fault(
        "of two clusters that are merged one has no entropy of its own",
        "kernels/merging.py",
        " - own_terms[rows.words[entry]] - rows.terms[entry]",
        " - own_terms[rows.words[entry]]",
        MERGING_TESTS,
    ),
    Fault(
        "the entropy of words that both clusters have is that of one",
        "kernels/merging.py",
        "terms[free] = x_log_x(values[free])",
        "terms[free] = terms[i]",
        MERGING_TESTS,
    ),
    Fault(
        "words that both clusters have are those of one when they are merged",
        "kernels/merging.py",
        "words[free], values[free] = words[i], values[i] + values[j]",
        "words[free], values[free] = words[i], values[i]",
        MERGING_TESTS,
    ),
    Fault(
        "a cluster merged with one that is kept apart is not",
        "inference/merging.py",
        "        apart[one] |= apart[other]\n",
        "        apart[one] &= apart[other]\n",
        MERGING_TESTS,
    ),
    Fault(
        "fixed documents are moved",
        "inference/collapsed_gibbs.py",
        "n_documents = self.labels.size - self.n_fixed",
        "n_documents = self.labels.size",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "known clusters of many words fit better",
        "inference/known_clusters.py",
        "lift = gains.data / totals[gains.indices] * in_all.sum()",
        "lift = gains.data * in_all.sum()",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "a stray known document draws its cluster along",
        "inference/known_clusters.py",
        "follows = (there > 0) & (shares >= FOLLOWED * mean_shares[:, np.newaxis])",
        "follows = there > 0",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "documents of a cluster that follows two go to the first",
        "inference/known_clusters.py",
        "np.where(allowed[rows], fits_of(counts[rows], gains), -np.inf)",
        "allowed[rows]",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "what came to a known cluster by chance stays",
        "inference/known_clusters.py",
        "if fit.mean() < LEAST_SUPPORT:",
        "if False:",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "weights are taken for chances as they are",
        "inference/known_clusters.py",
        "scale = 1.0 if n_at_1 == 0 else (n_wanted - n_at_1) / rest[n_at_1]",
        "scale = 1.0",
        KNOWN_CLUSTERS_TESTS,
    ),
    Fault(
        "copies of known documents are not known",
        "estimators/prior_knowledge.py",
        "known = np.where((knowledge.known < 0) & has_words, best[groups[:n_documents]], knowledge.known)",
        "known = knowledge.known",
        f"{GUIDED_TESTS}::test_what_is_identical_to_a_known_document_or_example_is_known_as_most_of_these_are",
    ),
    Fault(
        "of copies that count once each counts in the words",
        "estimators/consensus_mixture.py",
        "        if self.duplicates == ALL:\n            return labels\n",
        "        return labels\n",
        f"{GUIDED_TESTS}::test_copies_in_two_known_clusters_count_once_in_each",
    ),
    Fault(
        "texts whose cluster was given are outliers by their scores",
        "estimators/consensus_mixture.py",
        "            scores[self._fitted.known_documents] = np.nan\n",
        "",
        f"{GUIDED_TESTS}::test_a_document_whose_cluster_was_given_is_no_outlier_whatever_its_words",
    ),
    Fault(
        "a known cluster is called by what was split off",
        "estimators/consensus_mixture.py",
        "clusters[knowledge.known[is_known]] = labels[is_known]  # what was split off is none of these",
        "pass",
        f"{GUIDED_TESTS}::test_known_clusters_are_named_right_when_documents_are_split_off",
    ),
    Fault(
        "of copies with weights the first one's counts",
        "estimators/prior_knowledge.py",
        "np.maximum.at(largest, groups, knowledge.weights)",
        "largest[groups[::-1]] = knowledge.weights[::-1]",
        f"{GUIDED_TESTS}::test_of_copies_that_count_once_the_largest_weight_counts",
    ),
    Fault(
        "a list that moves to more room loses its last pair",
        "kernels/stream.py",
        "for offset in range(clusters.list_lengths[word]):",
        "for offset in range(clusters.list_lengths[word] - 1):",
        STREAM_TESTS,
    ),
    Fault(
        "a list gets room for half of its new pairs",
        "kernels/stream.py",
        "                room = 2 * wanted\n",
        "                room = (wanted + clusters.list_lengths[word]) // 2\n",
        STREAM_TESTS,
    ),
    Fault(
        "a cluster that a document has left keeps its weight",
        "kernels/stream.py",
        "            refresh_bases(clusters, model, prior, table, slot)\n",
        "",
        STREAM_TESTS,
    ),
    Fault(
        "a cluster left empty keeps its slot",
        "kernels/statistics.py",
        "        clusters.counters[N_FREE] += 1\n",
        "        clusters.counters[N_FREE] += 0\n",
        STREAM_TESTS,
    ),
    Fault(
        "merging forgets that there is one cluster less",
        "kernels/stream.py",
        "sizes - math.log(prior.concentration)",
        "sizes",
        STREAM_TESTS,
    ),
    Fault(
        "merging forgets the words that both clusters have",
        "kernels/stream.py",
        "log_product(model, table, beta, clusters.pair_counts[pair], count) - alone",
        "0.0",
        STREAM_TESTS,
    ),
    Fault(
        "merging takes lengths as if clusters were alone",
        "kernels/stream.py",
        "gains[other] = length_alone - together + sizes",
        "gains[other] = sizes",
        STREAM_TESTS,
    ),
    Fault(
        "a cluster that another has gone into keeps its old weight",
        "kernels/stream.py",
        "table, gone)\n    refresh_bases(clusters, model, prior, table, kept)\n",
        "table, gone)\n",
        STREAM_TESTS,
    ),
    Fault(
        "words that are gone still count as present",
        "stream/documents.py",
        '            del self._column_of[self._names[column]]\n            self._names[column] = ""\n',
        '            self._names[column] = ""\n',
        STREAM_TESTS,
    ),
    Fault(
        "a document alone has the probability of a cluster that is not there",
        "kernels/stream.py",
        "staying = fresh if clusters.sizes[own] == 1 else scratch",
        "staying = scratch",
        STREAM_TESTS,
    ),
    Fault(
        "the odds of a new cluster leave out clusters without a shared word",
        "kernels/stream.py",
        "existing = total + rest",
        "existing = total",
        STREAM_TESTS,
    ),
    Fault(
        "a pair of two clusters that become one is counted once",
        "kernels/stream.py",
        "            clusters.pair_counts[other] += clusters.pair_counts[pair]\n",
        "",
        STREAM_TESTS,
    ),
    Fault(
        "a pair that is joined to another leaves a gap",
        "kernels/stream.py",
        "            clusters.pair_counts[pair] = clusters.pair_counts[last]\n        else",
        "        else",
        STREAM_TESTS,
    ),
    Fault(
        "directions: the product with its own cluster keeps the document",
        "kernels/directions.py",
        "product = products[own] - 1.0",
        "product = products[own] + 0.0",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: its own cluster keeps the document in its length",
        "kernels/directions.py",
        "without = math.sqrt(max(root * root - step, model.b * model.b))",
        "without = root",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: its own cluster keeps the document in its size",
        "kernels/directions.py",
        "math.log(clusters.sizes[own] - 1 + model.alpha)",
        "math.log(clusters.sizes[own] + model.alpha)",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: a document alone has the weight that rounding leaves",
        "kernels/directions.py",
        "        if clusters.sizes[own] > 1:\n",
        "        if True:\n",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: the logarithm of g has the wrong sign",
        "kernels/directions.py",
        "return rise - model.a * math.log1p(",
        "return rise + model.a * math.log1p(",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: the logarithm of g forgets a",
        "kernels/directions.py",
        "math.log1p(rise / (model.a + root))",
        "math.log1p(rise / root)",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: the length of the document itself is forgotten",
        "kernels/directions.py",
        "    step = model.kappa * model.kappa * (2.0 * product + 1.0)\n    joined",
        "    step = model.kappa * model.kappa * (2.0 * product)\n    joined",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: later products keep who has left",
        "kernels/directions.py",
        "products[later, own] -= among[document, later]",
        "products[later, own] -= 0.0",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: later products do not see who has come",
        "kernels/directions.py",
        "products[later, chosen] += among[document, later]",
        "products[later, chosen] += 0.0",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: only the next document's products are corrected",
        "kernels/directions.py",
        "for later in range(document + 1, labels.size):",
        "for later in range(document + 1, min(document + 2, labels.size)):",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: who leaves a cluster stays in its size",
        "kernels/directions.py",
        "    clusters.sizes[slot] += sign\n",
        "    clusters.sizes[slot] += max(sign, 0)\n",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: who leaves a cluster stays in its sum",
        "kernels/directions.py",
        "clusters.sums[slot, dimension] + sign * vector[dimension]",
        "clusters.sums[slot, dimension] + max(sign, 0) * vector[dimension]",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: an empty cluster keeps what rounding has left",
        "kernels/directions.py",
        "if clusters.sizes[slot] == 0:",
        "if False:",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: roots forget b",
        "kernels/directions.py",
        "clusters.roots[slot] = math.sqrt(model.kappa * model.kappa * square + model.b * model.b)",
        "clusters.roots[slot] = math.sqrt(model.kappa * model.kappa * square)",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: the pseudo-count is forgotten after a move",
        "kernels/directions.py",
        "clusters.log_sizes[slot] = math.log(clusters.sizes[slot] + model.alpha)",
        "clusters.log_sizes[slot] = math.log(max(clusters.sizes[slot], 1e-9))",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: a draw does not scale its number by the weights",
        "kernels/directions.py",
        "point, chosen = uniform * sum_of(log_weights), own",
        "point, chosen = uniform, own",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: weights that are not negligible are taken for others",
        "kernels/elementary.py",
        "LEAST = -700.0",
        "LEAST = -2.0",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: greedy passes move on ties",
        "kernels/directions.py",
        "return own if log_weights[own] >= largest - tolerance else",
        "return own if log_weights[own] >= largest + tolerance else",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: rounding counts in greedy passes",
        "kernels/directions.py",
        "TOLERANCE * model.kappa, scratch)",
        "0.0, scratch)",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: a word that comes twice counts as two first ones",
        "kernels/directions.py",
        "pseudo_count, pseudo_total = clusters.beta + time,",
        "pseudo_count, pseudo_total = clusters.beta,",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: words of a document do not follow each other",
        "kernels/directions.py",
        "clusters.vocabulary_beta + n_factors\n",
        "clusters.vocabulary_beta\n",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: the words before the last twenty are forgotten",
        "kernels/directions.py",
        "                if n_factors > 0:\n                    add_log_ratios(log_weights, scratch)\n",
        "",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: products of shares may overflow",
        "kernels/directions.py",
        "TOGETHER if LEAST_BETA < clusters.beta < MOST_BETA else 1",
        "TOGETHER",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: its own cluster keeps the document's words",
        "kernels/directions.py",
        "float(clusters.counts[documents.words[entry], own]) - documents.counts[entry]",
        "float(clusters.counts[documents.words[entry], own])",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: its own cluster keeps the number of the document's words",
        "kernels/directions.py",
        "        total -= documents.counts[entry]\n",
        "        total -= 0.0\n",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: who leaves a cluster leaves words behind",
        "kernels/directions.py",
        "        add_words(words, documents, document, own, -1)\n",
        "",
        DIRECTION_TESTS,
    ),
    Fault(
        "directions: totals of words stay when a document moves",
        "kernels/directions.py",
        "        clusters.totals[slot] += sign * documents.counts[entry]\n",
        "",
        DIRECTION_TESTS,
    ),
    Fault(
        "elementary: exponents are one too high",
        "kernels/elementary.py",
        "ONE_EXPONENT = 1023 << MANTISSA_BITS",
        "ONE_EXPONENT = 1024 << MANTISSA_BITS",
        ELEMENTARY_TESTS,
    ),
    Fault(
        "elementary: a term of the exponential series is wrong",
        "kernels/elementary.py",
        "1.0 / 5040.0",
        "1.0 / 5041.0",
        ELEMENTARY_TESTS,
    ),
    Fault(
        "elementary: a term of the logarithm's series is wrong",
        "kernels/elementary.py",
        "1.0 / 9.0 + s",
        "1.0 / 9.1 + s",
        ELEMENTARY_TESTS,
    ),
    Fault(
        "elementary: the largest of the last entries is not seen",
        "kernels/elementary.py",
        "    for i in range(whole, row.size):\n        a = max(a, row[i])\n",
        "",
        ELEMENTARY_TESTS,
    ),
]


def is_caught(fault: Fault) -> bool:
    """Whether the ladder fails on a copy of the package with this fault in it."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "textmix"
        shutil.copytree(ROOT / "src" / "textmix", package, ignore=shutil.ignore_patterns("__pycache__"))
        broken = package / fault.file
        source = broken.read_text(encoding="utf-8")
        if source.count(fault.right) == 0:
            raise ValueError(f"fault {fault.name!r}: its line is not in {fault.file}; bring it up to date")
        broken.write_text(source.replace(fault.right, fault.wrong), encoding="utf-8")
        finished = run_ladder(folder, fault.tests)
    if finished.returncode not in (0, 1):
        raise RuntimeError(f"the ladder did not run on {fault.name!r}:\n{finished.stdout}{finished.stderr}")
    return finished.returncode == 1


def run_ladder(package_folder: str, tests: str) -> subprocess.CompletedProcess[str]:
    """Run a ladder, interpreted, with the package found in this folder."""
    code = (
        "import sys, pytest; sys.path.insert(0, sys.argv[1]); import textmix.kernels; "
        "assert textmix.kernels.__file__.startswith(sys.argv[1]); sys.exit(pytest.main(sys.argv[2:]))"
    )
    return subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            package_folder,
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            tests,
        ],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def main(chosen: list[str]) -> int:
    """Try the chosen faults, or all; say for each whether it was caught."""
    numbers = [int(text) for text in chosen] or list(range(len(FAULTS)))
    missed = 0
    for tests in sorted({FAULTS[number].tests for number in numbers}):
        healthy = run_ladder(str(ROOT / "src"), tests).returncode == 0
        print(f"{'passes' if healthy else 'FAILS':8} {tests} on the unbroken package", flush=True)
        missed += not healthy
    for number in numbers:
        caught = is_caught(FAULTS[number])
        missed += not caught
        print(f"{'caught' if caught else 'MISSED':8} {number:2} {FAULTS[number].name}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
