"""Made-up documents among 20NG: how many GSDPMM finds as outliers (GSDPMM, section V-D and Fig. 4)."""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse

from common import load, print_table
from textmix import DirichletProcessMixture

N_OUTLIERS, N_WORDS = 100, 138


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    counts = load("20NG").counts
    # Every made-up document has words of its own, none of them in the vocabulary of 20NG.
    odd = scipy.sparse.csr_array(np.kron(np.eye(N_OUTLIERS, dtype=np.int32), np.ones((1, N_WORDS), np.int32)))
    mixed = scipy.sparse.csr_array(scipy.sparse.block_diag([counts, odd], format="csr"))
    order = np.random.default_rng(0).permutation(mixed.shape[0])
    made_up = np.flatnonzero(order >= counts.shape[0])
    mixed = mixed[order]
    rows = []
    for seed in range(arguments.seeds):
        for polish in (False, True):
            model = DirichletProcessMixture(
                alpha="0.1n", beta=0.02, n_sweeps=5, tol=0, polish=polish, random_state=seed, progress=False
            ).fit(mixed)
            found = int(model.outliers_[made_up].sum())
            rows.append(
                [
                    seed,
                    "fixed point" if polish else "last sample",
                    found,
                    int(model.outliers_.sum()) - found,
                    model.n_clusters_,
                ]
            )
    header = ["seed", "labels", f"of {N_OUTLIERS} found", "others", "clusters"]
    print_table("Outliers made up among 20NG", header, rows)


if __name__ == "__main__":
    main()
