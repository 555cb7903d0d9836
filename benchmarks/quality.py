"""NMI with the papers' settings: means over seeds of the last sample and of the fixed point it is polished to."""

from __future__ import annotations

import argparse
import statistics

from common import load, nmi, print_table
from textmix import DirichletMultinomialMixture, DirichletProcessMixture

# GSDPMM, Table III (GSDMM at the largest K it prints).
PAPER = {
    "GSDPMM": {"Tweet": 0.875, "T": 0.873, "S": 0.891, "TS": 0.912},
    "GSDMM": {"Tweet": 0.871, "T": 0.868, "S": 0.885, "TS": 0.910},
}
SETTINGS = {
    "GSDPMM": (DirichletProcessMixture, {"alpha": "0.1n", "beta": 0.02, "n_start_clusters": 1, "n_sweeps": 10}),
    "GSDMM": (DirichletMultinomialMixture, {"n_clusters": 500, "alpha": 0.1, "beta": 0.1, "n_sweeps": 30}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    rows = []
    for name in ("Tweet", "T", "S", "TS"):
        collection = load(name)
        for method, (estimator, settings) in SETTINGS.items():
            scores: dict[bool, list[float]] = {False: [], True: []}
            n_clusters = []
            for seed in range(arguments.seeds):
                for polish in scores:
                    model = estimator(**settings, tol=0, polish=polish, random_state=seed, progress=False)
                    labels = model.fit_predict(collection.counts)
                    scores[polish].append(nmi(collection.labels, labels))
                n_clusters.append(model.n_clusters_)
            cells = [f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}" for values in scores.values()]
            rows.append([name, method, PAPER[method][name], *cells, round(statistics.mean(n_clusters))])
    header = ["collection", "method", "paper", "last sample", "fixed point", "clusters"]
    print_table(f"NMI with the papers' settings, mean ± sd of {arguments.seeds} seeds", header, rows)


if __name__ == "__main__":
    main()
